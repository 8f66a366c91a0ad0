package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/stream"
)

// DeadLetters lists undecodable records, oldest first.
func (s *Letters) DeadLetters(_ context.Context, q ledger.DeadLetterQuery) ([]ledger.StoredDeadLetter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []ledger.StoredDeadLetter{}
	for _, l := range s.ledger.dead {
		if q.Matches(l) {
			letter := *l
			letter.Raw = slices.Clone(l.Raw)
			list = append(list, letter)
		}
	}
	slices.SortFunc(list, func(a, b ledger.StoredDeadLetter) int {
		return cmp.Or(
			a.At.Compare(b.At), strings.Compare(a.Stream, b.Stream), cmp.Compare(a.Number, b.Number),
			cmp.Compare(a.Offset, b.Offset),
		)
	})
	limit, offset := q.Page()
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))], nil
}

// StartReplay records that a dead letter is about to be sent again. Errors: errs.NotFound;
// errs.Conflict when it was sent before, or may have been, unless again is set.
func (s *Letters) StartReplay(
	ctx context.Context, p stream.Partition, offset int64, by string, again bool,
) (ledger.StoredDeadLetter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledger.dead[deadKey{p, offset}]
	if l == nil {
		return ledger.StoredDeadLetter{}, errs.New(
			errs.NotFound, "no dead letter at %s/%d offset %d", p.Stream, p.Number, offset,
		)
	}
	switch {
	case again || l.Replays == 0:
	case !l.SentAt.IsZero():
		return ledger.StoredDeadLetter{}, errs.New(
			errs.Conflict, "it was replayed at %s by %s; say --again to do it once more", l.SentAt.Format(time.RFC3339),
			l.SentBy,
		)
	default:
		return ledger.StoredDeadLetter{}, errs.New(
			errs.Conflict, "a replay was begun at %s by %s and never ended; say --again to do it once more",
			l.StartedAt.Format(time.RFC3339), l.SentBy,
		)
	}
	before := *l
	err := s.record(ctx, auditlog.Entry{
		TargetKind: auditlog.TargetDeadLetter, TargetID: fmt.Sprintf("%s/%d:%d", p.Stream, p.Number, offset),
		Changes: map[string]auditlog.Change{"replays": {Before: l.Replays, After: l.Replays + 1}},
	})
	if err != nil {
		return ledger.StoredDeadLetter{}, err
	}
	l.StartedAt, l.SentAt, l.SentBy, l.Replays = s.clock(), time.Time{}, by, l.Replays+1
	return before, nil
}

// EndReplay records that the log has the letter.
func (s *Letters) EndReplay(_ context.Context, p stream.Partition, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.ledger.dead[deadKey{p, offset}]; l != nil && !l.StartedAt.IsZero() {
		l.SentAt = s.clock()
	}
	return nil
}
