package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/process/link"
)

// flagLife is the life of an unknown flag after its last use.
const flagLife = 30 * 24 * time.Hour

// Flags stores publishers' unknown flags for all nodes: a hash for each publisher that expires 30
// days after its last flag, with at most [subject.MaxUnknown] names and one for all further ones.
// Losing them with Redis is tolerable.
type Flags struct{ client *Client }

// NewFlags returns a view of the flags. It does no I/O.
func NewFlags(client *Client) Flags { return Flags{client} }

// AddFlags adds to the counts of a publisher.
func (f Flags) AddFlags(ctx context.Context, publisher uuid.UUID, flags []subject.Unknown, now time.Time) error {
	keys := []string{f.client.keys.flags(publisher.String()), f.client.keys.flagged()}
	args := []any{publisher.String(), now.UnixMilli(), flagLife.Milliseconds(), subject.MaxUnknown, subject.OtherFlags}
	for _, flag := range flags {
		args = append(args, flag.Name, flag.Count)
	}
	return f.client.explain(flagScript.Run(ctx, f.client.rdb, keys, args...).Err())
}

// UnknownFlags returns the flags of a publisher, the most frequent first.
func (f Flags) UnknownFlags(ctx context.Context, publisher uuid.UUID) ([]subject.Unknown, error) {
	fields, err := f.client.rdb.HGetAll(ctx, f.client.keys.flags(publisher.String())).Result()
	if err != nil {
		return nil, f.client.explain(err)
	}
	list := make([]subject.Unknown, 0, len(fields))
	for name, value := range fields {
		count, last, _ := strings.Cut(value, " ")
		n, err := strconv.ParseInt(count, 10, 64)
		at, err2 := strconv.ParseInt(last, 10, 64)
		if err != nil || err2 != nil {
			continue // of another version
		}
		list = append(list, subject.Unknown{Name: name, Count: n, LastAt: time.UnixMilli(at).UTC()})
	}
	slices.SortFunc(list, func(a, b subject.Unknown) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Flagged returns at most most publishers with an unknown flag within its life, the latest first.
func (f Flags) Flagged(ctx context.Context, most int) ([]uuid.UUID, error) {
	members, err := f.client.rdb.ZRevRange(ctx, f.client.keys.flagged(), 0, int64(most)-1).Result()
	if err != nil {
		return nil, f.client.explain(err)
	}
	list := make([]uuid.UUID, 0, len(members))
	for _, text := range members {
		if id, err := uuid.Parse(text); err == nil {
			list = append(list, id)
		}
	}
	return list, nil
}

// Bounds on the unknown flags in a report.
const (
	reportedPublishers = 5
	reportedFlags      = 5
)

// describeFlags reports publishers whose unknown flags block their ads. Read errors are ignored
// here: the check of rights reports them.
func (c *Client) describeFlags(ctx context.Context, report *link.Report) {
	flags := NewFlags(c)
	publishers, err := flags.Flagged(ctx, reportedPublishers)
	if err != nil {
		return
	}
	for _, publisher := range publishers {
		list, err := flags.UnknownFlags(ctx, publisher)
		if err != nil || len(list) == 0 {
			continue
		}
		var names []string
		for _, flag := range list[:min(len(list), reportedFlags)] {
			names = append(names, fmt.Sprintf("%s (%d)", flag.Name, flag.Count))
		}
		report.Advise("publisher "+publisher.String()+" sends unknown flags, which refuse its ads: "+strings.Join(names,
			", "),
			"have it send flags that GET /api/account/suitability lists")
	}
}
