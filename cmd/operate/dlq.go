package operate

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"adnet/cmd/cli"
	"adnet/internal/errs"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/store/postgres"
	"adnet/internal/stream"
	"adnet/internal/stream/deadletter"
)

// DLQ is `adnet dlq`: undecodable records of the events topic.
type DLQ struct {
	Postgres postgres.Config `embed:""`

	List   dlqList   `cmd:"" help:"List dead letters, oldest first."`
	Replay dlqReplay `cmd:"" help:"Send dead letters to the events topic again, once their cause is fixed."`
}

type dlqList struct {
	Open   bool   `name:"open" help:"Only dead letters that were never replayed."`
	Stream string `name:"stream" help:"Only dead letters of one stream (topic id in hex)."`
	Limit  int    `name:"limit" default:"50" help:"Maximum number of rows (1 to 1000)."`
	Offset int    `name:"offset" help:"Number of rows to skip."`
	JSON   bool   `name:"json" help:"Print one JSON object per line."`
}

// shownLetter is a dead letter in the output of --json.
type shownLetter struct {
	ID        string     `json:"id"` // the argument of replay
	Stream    string     `json:"stream"`
	Partition int32      `json:"partition"`
	Offset    int64      `json:"offset"`
	Problem   string     `json:"problem"`
	At        time.Time  `json:"at"`
	Raw       []byte     `json:"raw"` // base64
	Decoded   any        `json:"decoded"`
	Replays   int        `json:"replays"`
	StartedAt *time.Time `json:"replay_started_at"`
	SentAt    *time.Time `json:"replayed_at"`
	SentBy    string     `json:"replayed_by"`
}

func letterID(l ledger.StoredDeadLetter) string {
	return fmt.Sprintf("%s/%d:%d", l.Stream, l.Number, l.Offset)
}

// decodedOf decodes the record as far as possible; nil if the bytes are not an event.
func decodedOf(raw []byte) any {
	if text := deadletter.Decoded(raw); text != nil {
		return rawJSON(text)
	}
	return nil
}

type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Run lists.
func (c *dlqList) Run(d *DLQ, p cli.Process) error {
	store, err := postgres.Open(p.Ctx, d.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	letters, err := store.Letters.DeadLetters(
		p.Ctx, ledger.DeadLetterQuery{Open: c.Open, Stream: c.Stream, Limit: c.Limit, Offset: c.Offset},
	)
	if err != nil {
		return err
	}
	if c.JSON {
		for _, l := range letters {
			err := cli.PrintJSON(p.Stdout, shownLetter{
				ID: letterID(l), Stream: l.Stream, Partition: l.Number, Offset: l.Offset, Problem: l.Problem, At: l.At,
				Raw: l.Raw, Decoded: decodedOf(l.Raw),
				Replays: l.Replays, StartedAt: nullTime(l.StartedAt), SentAt: nullTime(l.SentAt), SentBy: l.SentBy,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAT\tPROBLEM\tBYTES\tDECODED\tREPLAYED")
	for _, l := range letters {
		sent := "-"
		if !l.SentAt.IsZero() {
			sent = l.SentAt.Format(time.DateTime) + " by " + l.SentBy
		} else if l.Replays > 0 {
			sent = "begun " + l.StartedAt.Format(time.DateTime) + " by " + l.SentBy + ", not ended"
		}
		fmt.Fprintf(
			table, "%s\t%s\t%s\t%d\t%s\t%s\n", letterID(l), l.At.Format(time.DateTime), l.Problem, len(l.Raw),
			deadletter.Short(l.Raw), sent,
		)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%d dead letters\n", len(letters))
	return nil
}

type dlqReplay struct {
	Kafka kafka.Config `embed:""`
	IDs   []string     `arg:"" optional:"" name:"id" help:"Ids in the form of list: stream/partition:offset."`
	All   bool         `name:"all" help:"Every dead letter that was never replayed."`
	Again bool         `name:"again" help:"Include dead letters replayed before. An event that was applied counts as a duplicate."`
}

// Run replays. An event that decodes now is applied once: its deduplication key prevents a second
// application. A record that still does not decode becomes a new dead letter.
func (c *dlqReplay) Run(d *DLQ, p cli.Process) error {
	if c.All == (len(c.IDs) > 0) {
		return errors.New("name the dead letters to replay, or use --all")
	}
	ctx := p.Ctx
	store, err := postgres.Open(ctx, d.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	targets, err := c.targets(ctx, store)
	if err != nil {
		return err
	}
	producer, err := kafka.NewProducer(c.Kafka, kafka.Deps{Log: p.Log, Metrics: obs.NewRegistry()})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- producer.Run(running) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			p.Log.Error("the producer did not stop cleanly", "error", err)
		}
	}()
	sent, failed := 0, 0
	for _, at := range targets {
		err := deadletter.Replay(
			ctx, store.Letters, producer, deadletter.Sending{At: at, By: cli.Operator(), Again: c.Again},
		)
		if err != nil {
			failed++
			fmt.Fprintf(p.Stdout, "%s/%d:%d  not replayed: %s\n", at.Stream, at.Number, at.First, cli.Sentence(err))
			if errs.Is(err, errs.Unavailable) {
				break
			}
			continue
		}
		sent++
		fmt.Fprintf(p.Stdout, "%s/%d:%d  replayed\n", at.Stream, at.Number, at.First)
	}
	fmt.Fprintf(p.Stdout, "%d replayed, %d not\n", sent, failed)
	if failed > 0 {
		return cli.ErrExit
	}
	return nil
}

// targets returns the position of each letter as a range of one offset.
func (c *dlqReplay) targets(ctx context.Context, store *postgres.Stores) (list []stream.Range, err error) {
	if c.All {
		for offset := 0; ; offset += 1000 {
			page, err := store.Letters.DeadLetters(ctx, ledger.DeadLetterQuery{Open: true, Limit: 1000, Offset: offset})
			if err != nil {
				return nil, err
			}
			for _, l := range page {
				if l.Replays == 0 && len(l.Raw) > 0 {
					list = append(list, stream.Range{Partition: l.Partition, First: l.Offset, Next: l.Offset + 1})
				}
			}
			if len(page) < 1000 {
				return list, nil
			}
		}
	}
	for _, id := range c.IDs {
		r, err := stream.ParsePlace(id)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
