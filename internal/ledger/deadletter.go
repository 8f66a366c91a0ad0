package ledger

import (
	"time"
)

// StoredDeadLetter is a dead letter with its life. Times are UTC, zero while it has not happened.
type StoredDeadLetter struct {
	DeadLetter
	At        time.Time // when settlement met it
	StartedAt time.Time // the last replay was begun; without ReplayedAt after it, it may or may not have been written to the log
	SentAt    time.Time // the last replay is in the log
	SentBy    string    // the account that replayed it
	Replays   int       // begun replays
}

// DeadLetterQuery selects dead letters, oldest first.
type DeadLetterQuery struct {
	Open   bool   // only those that were never replayed
	Stream string // of one stream; empty for all
	Limit  int    // 1 to 1000
	Offset int
}

// Page is the limit and offset inside their bounds.
func (q DeadLetterQuery) Page() (limit, offset int) {
	return min(max(q.Limit, 1), 1000), max(q.Offset, 0)
}
