package history

import (
	"context"
	"errors"

	"adnet/internal/process/lifecycle"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// stuck reports a consumer that ended before it had read everything.
var errStuck = errors.New("the invented past was not read to its end")

// tape is a partition in the process. Its topic is none of the broker's, so no offset collides.
type tape struct {
	topic string
	next  int64
	last  []event.Record // of the newest play
}

func newTape(topic string) *tape { return &tape{topic: topic} }

// topicID is the id of the topics of a past: hexadecimal like the broker's, which are random.
const topicID = "00000000000000000000000000000de0"

// archived returns the offsets below which everything is archived; see archive.Plans.
type archived func(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)

// play appends records and returns a reader of them.
func (t *tape) play(records []event.Record, done archived) *reader {
	for i := range records {
		r := &records[i]
		r.Topic, r.TopicID, r.Offset = t.topic, topicID, t.next
		t.next++
	}
	t.last = records
	return &reader{left: records, all: records, end: t.next, done: done}
}

// again returns a reader of the newest records.
func (t *tape) again(n int, done archived) *reader {
	return &reader{left: t.last[:n], all: t.last[:n], end: t.next, done: done}
}

// reader is a consumer group's view of a tape. Its consumer stops after the last record.
type reader struct {
	left, all []event.Record
	end       int64
	done      archived // nil: everything was handled when the consumer polls again
	stop      context.CancelFunc
	complete  bool
}

// through runs a consumer until it has handled every record.
func (r *reader) through(ctx context.Context, c lifecycle.Component) error {
	if len(r.all) == 0 {
		return nil
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	r.stop = cancel
	if err := c.Run(run); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !r.complete {
		return errStuck
	}
	return nil
}

// Poll implements settle.Records and archive.Records.
func (r *reader) Poll(ctx context.Context, most int) ([]event.Record, error) {
	if n := min(len(r.left), most); n > 0 {
		records := r.left[:n]
		r.left = r.left[n:]
		return records, nil
	}
	if r.finished(ctx) {
		r.complete = true
		r.stop()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (r *reader) finished(ctx context.Context) bool {
	if r.done == nil {
		return true
	}
	p := stream.Partition{Stream: topicID}
	at, err := r.done(ctx, []stream.Partition{p})
	return err == nil && at[p] >= r.end
}

// Done implements settle.Records and archive.Records.
func (r *reader) Done(context.Context) error { return nil }

// Reset implements settle.Records. Another settler cannot have the tape.
func (r *reader) Reset(context.Context) error { return errStuck }

// Read implements archive.Records.
func (r *reader) Read(_ context.Context, of stream.Range) ([]event.Record, error) {
	var found []event.Record
	for i := range r.all {
		if at := r.all[i].Offset; at >= of.First && at < of.Next {
			found = append(found, r.all[i])
		}
	}
	return found, nil
}
