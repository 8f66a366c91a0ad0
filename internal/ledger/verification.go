package ledger

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Verification is one run of `adnet verify` by the consumers, nightly or on request.
type Verification struct {
	ID        int64
	AskedBy   uuid.UUID // account; the nil UUID for the nightly run
	AskedAt   time.Time
	StartedAt time.Time // zero: waiting
	EndedAt   time.Time // zero: waiting or running
	Checks    []Check   // in the order of verify; nil before the end and after a failure
	Problem   string    // the reason why it could not complete; empty after a complete run
}

// The limits of verifications: each reads every row of the ledger.
const (
	VerifyGap   = 10 * time.Minute // between the end of a run and the next requested one
	VerifyLimit = time.Hour        // a longer run has died with its process
	VerifyKept  = 60               // the newest runs
)

// Requested returns the run for a request at now: a new one without an id, or newest while that is
// open. newest is the last existing run, or zero. Errors: errs.Conflict within [VerifyGap] of the
// end of a run.
func Requested(newest Verification, by uuid.UUID, now time.Time) (Verification, error) {
	if newest.ID != 0 && newest.Open(now) {
		return newest, nil
	}
	if again := newest.EndedAt.Add(VerifyGap); !newest.EndedAt.IsZero() && now.Before(again) {
		return Verification{}, errs.New(errs.Conflict,
			"the last run ended at %s; each reads the whole ledger: try again after %s",
			newest.EndedAt.UTC().Format(time.RFC3339), again.UTC().Format(time.RFC3339))
	}
	return Verification{AskedBy: by, AskedAt: now}, nil
}

// Begun returns the run that a process starts at now: newest if it is waiting, or with nightly a
// new one without an id. It returns false while a run is active, and if there is nothing to do.
func Begun(newest Verification, nightly bool, now time.Time) (Verification, bool) {
	waits := newest.ID != 0 && newest.StartedAt.IsZero()
	switch {
	case waits:
		newest.StartedAt = now
		return newest, true
	case !nightly || newest.ID != 0 && newest.Open(now):
		return Verification{}, false
	case !newest.EndedAt.IsZero() && now.Before(newest.EndedAt.Add(VerifyGap)):
		return Verification{}, false // several processes share the same night
	}
	return Verification{AskedAt: now, StartedAt: now}, true
}

// Clean reports whether the run completed and every guarantee held.
func (v *Verification) Clean() bool {
	return !v.EndedAt.IsZero() && v.Problem == "" &&
		!slices.ContainsFunc(v.Checks, func(c Check) bool { return !c.OK() })
}

// Open reports whether the run is waiting or active at now.
func (v *Verification) Open(now time.Time) bool {
	return v.EndedAt.IsZero() && (v.StartedAt.IsZero() || now.Sub(v.StartedAt) < VerifyLimit)
}
