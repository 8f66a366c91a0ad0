package track

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"google.golang.org/protobuf/proto"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/schemas/event"
)

// Limits of a batch. A report with a token is about 400 bytes.
const (
	maxBatch     = 500
	maxBatchBody = 512 << 10
)

// batch is the body of POST /api/track?action=batch: events that a server collected for many
// conversations.
type batch struct {
	Events []Report `json:"events"`
}

// batchTaken is the reply to a batch. Every event outside Rejected is durable.
type batchTaken struct {
	Tracked  int        `json:"tracked"`
	Deduped  bool       `json:"deduped,omitzero"`  // the events in Repeats were taken before; nothing is counted twice
	Repeats  []int      `json:"repeats,omitempty"` // by index in the batch
	Rejected []rejected `json:"rejected,omitempty"`
	// conversions that are counted but never charged
	Unverified []doubted `json:"unverified,omitempty"`
}

// doubted is a conversion that is not verified.
type doubted struct {
	Index   int    `json:"index"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// doubt adds a conversion that is not verified.
func (b *batchTaken) doubt(index int, e *event.Event, report *reportedEvent) {
	if reason, message := unverified(e, report.clickID, &report.by); reason != "" {
		b.Unverified = append(b.Unverified, doubted{index, reason, message})
	}
}

// rejected is a report that was not taken. Sending it again is useful only for code rate_limited:
// its token does not verify, and the address has sent too many such reports.
type rejected struct {
	Index int    `json:"index"`
	Code  string `json:"code"`
	Error string `json:"error"`
	Field string `json:"field,omitempty"`
}

// batch serves POST /api/track?action=batch. An invalid report does not stop the others. The reply
// is 200 only if every other report is durable. After a 503 the client may send the whole batch
// again, since repeats count once.
func (t *Tracker) batch(c *gin.Context) error {
	var in batch
	if err := httpapi.DecodeLoose(c, &in); err != nil {
		return err
	}
	if len(in.Events) == 0 || len(in.Events) > maxBatch {
		return errs.New(errs.InvalidRequest, "events must contain 1 to %d events", maxBatch).With("field", "events")
	}
	by, err := t.reporter(c)
	if err == nil {
		err = by.Err
	}
	if err != nil {
		return err
	}
	taken, err := t.takeBatch(c.Request.Context(), in.Events, by, Origin{request: c, posted: true})
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, taken)
}

func (t *Tracker) takeBatch(ctx context.Context, reports []Report, by Reporter, from Origin) (batchTaken, error) {
	now := t.deps.Now()
	events, all, places, out := make(
		[]*event.Event, 0, len(reports),
	), make([]*placedEvent, 0, len(reports)), make([]int, 0, len(reports)), batchTaken{}
	for i := range reports {
		in := &reports[i]
		in.By, in.needsCampaign, in.Origin = by, true, from
		report, err := reportedEventOf(in)
		if err != nil {
			out.Rejected = append(out.Rejected, rejection(i, err))
			continue
		}
		e, countable, err := t.eventOf(&report, now)
		if errs.Is(err, errs.Forbidden) {
			out.Rejected = append(out.Rejected, rejection(i, err))
			continue
		}
		if err != nil {
			return out, err
		}
		if !countable {
			if err := t.stranger(&e.Event, &report, now); err != nil {
				out.Rejected = append(out.Rejected, rejection(i, err))
			} else {
				out.Tracked++
				out.doubt(i, &e.Event, &report)
			}
			continue
		}
		t.judge(ctx, &e.Event, from, now)
		t.noteUnverified(&e.Event, &report)
		out.doubt(i, &e.Event, &report)
		events, all, places = append(events, &e.Event), append(all, e), append(places, i)
	}
	if err := t.recorder.recordAll(events); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	for i, e := range all {
		t.confirm(&e.Event)
		if t.again(ctx, e) {
			out.Deduped, out.Repeats = true, append(out.Repeats, places[i])
		}
	}
	out.Tracked += len(events)
	return out, nil
}

func rejection(index int, err error) rejected {
	known := errs.Of(err)
	r := rejected{Index: index, Code: string(known.Code), Error: known.Message}
	r.Field, _ = known.Extra["field"].(string)
	return r
}

// recordAll returns nil if every event is durable, like [recorder.record] with a single wait for
// all of them.
func (r *recorder) recordAll(events []*event.Event) error {
	values := make([][]byte, len(events))
	for i, e := range events {
		var err error
		if values[i], err = proto.Marshal(e); err != nil {
			return err
		}
	}
	durable := make([]bool, len(events))
	r.each(events, values, durable, r.producer.Produce, r.wait)
	// No limit: the spool always answers.
	r.each(events, values, durable, r.spool.Append, 0)
	for _, is := range durable {
		if !is {
			r.unrecorded()
			return errs.New(
				errs.Unavailable, "not every event can be recorded now; send the batch again",
			).With("retry_after", comeBack)
		}
	}
	return nil
}

// each passes on the events that are not durable yet, and marks those that become durable within
// the limit. It ignores a later answer. The event is then passed on again and may be recorded
// twice; settlement drops the repeat.
func (r *recorder) each(
	events []*event.Event, values [][]byte, durable []bool,
	hand func(topic string, key, value []byte, done func(error)),
	limit time.Duration,
) {
	type answer struct {
		index int
		err   error
	}
	answers, waiting := make(chan answer, len(events)), 0
	for i, e := range events {
		if durable[i] {
			continue
		}
		waiting++
		hand(event.TopicEvents, e.AuctionId, values[i], func(err error) { answers <- answer{i, err} })
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for ; waiting > 0; waiting-- {
		select {
		case a := <-answers:
			durable[a.index] = a.err == nil
		case <-late:
			return
		}
	}
}
