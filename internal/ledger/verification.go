package ledger

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Verification is one run of `adnet verify` by the consumers: every night, or asked for.
type Verification struct {
	ID        int64
	AskedBy   uuid.UUID // account; the nil UUID for the nightly one
	AskedAt   time.Time
	StartedAt time.Time // zero: waits
	EndedAt   time.Time // zero: waits or runs
	Checks    []Check   // in the order of verify; nil before the end and after a failure
	Problem   string    // why it could not be ended; empty after a whole one
}

// The bounds of verifications: each reads every row of the ledger.
const (
	VerifyGap   = 10 * time.Minute // between the end of one and the next that is asked for
	VerifyLimit = time.Hour        // a run that takes longer has died with its process
	VerifyKept  = 60               // the newest ones
)

// Asked is what asking for a run at now gives, newest being the last one there is (zero for none):
// a new one without an id, or newest while that is open. Errors: errs.Conflict within [VerifyGap]
// of the end of one.
func Asked(newest Verification, by uuid.UUID, now time.Time) (Verification, error) {
	if newest.ID != 0 && newest.Open(now) {
		return newest, nil
	}
	if again := newest.EndedAt.Add(VerifyGap); !newest.EndedAt.IsZero() && now.Before(again) {
		return Verification{}, errs.New(errs.Conflict,
			"the last run ended at %s; each reads the whole ledger: ask again after %s",
			newest.EndedAt.UTC().Format(time.RFC3339), again.UTC().Format(time.RFC3339))
	}
	return Verification{AskedBy: by, AskedAt: now}, nil
}

// Begun is the run that a process begins at now: newest when it waits, with nightly otherwise a new
// one without an id. false while one runs, and without anything to do.
func Begun(newest Verification, nightly bool, now time.Time) (Verification, bool) {
	waits := newest.ID != 0 && newest.StartedAt.IsZero()
	switch {
	case waits:
		newest.StartedAt = now
		return newest, true
	case !nightly || newest.ID != 0 && newest.Open(now):
		return Verification{}, false
	case !newest.EndedAt.IsZero() && now.Before(newest.EndedAt.Add(VerifyGap)):
		return Verification{}, false // several processes have the same night
	}
	return Verification{AskedAt: now, StartedAt: now}, true
}

// Clean says whether the run ended and every promise held.
func (v *Verification) Clean() bool {
	return !v.EndedAt.IsZero() && v.Problem == "" &&
		!slices.ContainsFunc(v.Checks, func(c Check) bool { return !c.OK() })
}

// Open says whether the run waits or is at work at now.
func (v *Verification) Open(now time.Time) bool {
	return v.EndedAt.IsZero() && (v.StartedAt.IsZero() || now.Sub(v.StartedAt) < VerifyLimit)
}
