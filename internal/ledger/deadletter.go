package ledger

import (
	"strings"
	"time"

	"adnet/internal/stream"
)

// StoredDeadLetter is a dead letter with its life. Times are UTC, zero while it has not happened.
type StoredDeadLetter struct {
	DeadLetter
	At time.Time // when settlement met it
	// the last replay was begun; without ReplayedAt after it, it may or may not have been written
	// to the log
	StartedAt time.Time
	SentAt    time.Time // the last replay is in the log
	SentBy    string    // the account that replayed it
	Replays   int       // begun replays
}

// DeadLetterQuery selects dead letters, oldest first.
type DeadLetterQuery struct {
	Open   bool   // only those that were never replayed
	Stream string // of one stream; empty for all
	// Problem is a part of why it could not be decoded, in any case of letters; empty for all.
	Problem string
	At      *stream.Range // the one of this record; nil for all
	Limit   int           // 1 to 1000
	Offset  int
}

// Page is the limit and offset inside their bounds.
func (q DeadLetterQuery) Page() (limit, offset int) {
	return min(max(q.Limit, 1), 1000), max(q.Offset, 0)
}

// Matches says whether q selects l, Limit and Offset aside.
func (q DeadLetterQuery) Matches(l *StoredDeadLetter) bool {
	return (!q.Open || l.SentAt.IsZero()) && (q.Stream == "" || l.Stream == q.Stream) &&
		(q.Problem == "" || strings.Contains(strings.ToLower(l.Problem), strings.ToLower(q.Problem))) &&
		(q.At == nil || q.At.Partition == l.Partition && q.At.First == l.Offset)
}
