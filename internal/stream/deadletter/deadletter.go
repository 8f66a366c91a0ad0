// Package deadletter reads and replays records of the events topic that could not be decoded, for
// the command `adnet dlq` and for administrators in the console.
//
// Contract of [Replay]: the store records a replay before the record is sent and again after the
// log has it. A crash in between leaves a letter that may or may not be in the log. It is sent
// again only on request. An event that now decodes is applied once: its deduplication key reveals
// an earlier application.
package deadletter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// Store stores dead letters and records their replays.
type Store interface {
	DeadLetters(ctx context.Context, q ledger.DeadLetterQuery) ([]ledger.StoredDeadLetter, error)
	// StartReplay records that a letter is about to be sent. Errors: errs.NotFound; errs.Conflict
	// if it was or may have been sent before, unless again is set.
	StartReplay(
		ctx context.Context, p stream.Partition, offset int64, by string, again bool,
	) (ledger.StoredDeadLetter, error)
	EndReplay(ctx context.Context, p stream.Partition, offset int64) error
}

// Producer writes to the log; done is called once.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// maxDecoded is the maximum size in bytes of a record whose fields are shown.
const maxDecoded = 64 << 10

// parse decodes as much of a record as its bytes allow. It returns false if they are not an event.
func parse(raw []byte) (m *event.Event, ok bool) {
	m = &event.Event{}
	return m, len(raw) > 0 && (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m) == nil
}

// Decoded returns the record as JSON, as far as its bytes allow. It returns nil for bytes that are
// not an event, and for more than 64 KiB.
func Decoded(raw []byte) []byte {
	m, ok := parse(raw)
	if !ok || len(raw) > maxDecoded {
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	return text
}

// Short describes the record in a few words. It returns "-" for bytes that are not an event.
func Short(raw []byte) string {
	m, ok := parse(raw)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%s received %s", m.Type, time.UnixMicro(m.ReceivedAtUs).UTC().Format(time.DateTime))
}

// ID returns the position of a letter as one word, "<stream>-<partition>-<offset>", suitable for a
// path.
func ID(l *ledger.StoredDeadLetter) string {
	return fmt.Sprintf("%s-%d-%d", l.Stream, l.Number, l.Offset)
}

// ParseID parses the output of [ID]. Errors: errs.NotFound for any other text, since no such letter
// exists.
func ParseID(text string) (stream.Range, error) {
	none := errs.New(errs.NotFound, "there is no such dead letter")
	parts := strings.Split(text, "-")
	if len(parts) != 3 || len(text) > 120 {
		return stream.Range{}, none
	}
	for _, digits := range parts[1:] {
		if _, err := strconv.ParseUint(digits, 10, 63); err != nil {
			return stream.Range{}, none
		}
	}
	r, err := stream.ParsePlace(parts[0] + "/" + parts[1] + ":" + parts[2])
	if err != nil {
		return stream.Range{}, none
	}
	return r, nil
}

// Sending is the request to replay one letter.
type Sending struct {
	At    stream.Range // of one record
	By    string       // the sender
	Again bool         // even if it was sent before
}

// Replay sends a letter to the events topic again. Errors: those of StartReplay; errs.InvalidState
// if the record itself is lost; errs.Unavailable if the log rejects it, or does not accept it
// before ctx ends.
func Replay(ctx context.Context, store Store, log Producer, s Sending) error {
	letter, err := store.StartReplay(ctx, s.At.Partition, s.At.First, s.By, s.Again)
	if err != nil {
		return err
	}
	if len(letter.Raw) == 0 {
		return errs.New(errs.InvalidState, "the record itself is lost; there is nothing to send")
	}
	var key []byte
	if m, ok := parse(letter.Raw); ok && len(m.AuctionId) == 16 {
		key = m.AuctionId // same partition as the auction's other events
	}
	acked := make(chan error, 1)
	log.Produce(event.TopicEvents, key, letter.Raw, func(err error) { acked <- err })
	select {
	case err = <-acked:
	case <-ctx.Done():
		return errs.New(errs.Unavailable, "the log has not accepted the record yet, but may still do so")
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the log did not accept the record")
	}
	return store.EndReplay(context.WithoutCancel(ctx), s.At.Partition, s.At.First)
}
