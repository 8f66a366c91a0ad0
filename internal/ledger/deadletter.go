package ledger

import (
	"strings"
	"time"

	"adnet/internal/stream"
)

// StoredDeadLetter is a dead letter with its history. Times are in UTC, and zero if the event has
// not happened.
type StoredDeadLetter struct {
	DeadLetter
	At time.Time // arrival at settlement
	// StartedAt is the beginning of the last replay. Without a later SentAt, the replay may or may
	// not have been written to the log.
	StartedAt time.Time
	SentAt    time.Time // the last replay is in the log
	SentBy    string    // the account that replayed it
	Replays   int       // begun replays
}

// DeadLetterQuery selects dead letters, oldest first.
type DeadLetterQuery struct {
	Open   bool   // only letters that were never replayed
	Stream string // only this stream; empty for all
	// Problem is a part of the decoding error, case-insensitive; empty for all.
	Problem string
	At      *stream.Range // only this record; nil for all
	Limit   int           // 1 to 1000
	Offset  int
}

// Page returns limit and offset within their bounds.
func (q DeadLetterQuery) Page() (limit, offset int) {
	return min(max(q.Limit, 1), 1000), max(q.Offset, 0)
}

// Matches reports whether q selects l, regardless of Limit and Offset.
func (q DeadLetterQuery) Matches(l *StoredDeadLetter) bool {
	return (!q.Open || l.SentAt.IsZero()) && (q.Stream == "" || l.Stream == q.Stream) &&
		(q.Problem == "" || strings.Contains(strings.ToLower(l.Problem), strings.ToLower(q.Problem))) &&
		(q.At == nil || q.At.Partition == l.Partition && q.At.First == l.Offset)
}
