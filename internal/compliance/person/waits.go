package person

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/compliance/decision"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

// WaitKind is the kind of a [Wait].
type WaitKind string

// The kinds of waits.
const (
	WaitCase     WaitKind = "case"     // an open quarantine case
	WaitDispute  WaitKind = "dispute"  // a payment with an open dispute
	WaitAppeal   WaitKind = "appeal"   // an appeal without an answer
	WaitDecision WaitKind = "decision" // a decision younger than [decision.AppealTime]
)

// Wait is a matter of an account for which its erasure waits.
type Wait struct {
	Kind WaitKind `json:"kind"`
	// ID is that of the case or of the decision; zero for disputes.
	ID uuid.UUID `json:"id,omitzero"`
	// Until is the end, UTC; zero while a decision is open.
	Until time.Time `json:"until,omitzero"`
}

// reason completes the sentence "the account can be erased …".
func (w *Wait) reason() string {
	switch w.Kind {
	case WaitCase:
		return "once a person has decided the quarantine case " + w.ID.String()
	case WaitDispute:
		return "once the open dispute about a payment has been decided"
	case WaitAppeal:
		return "once the appeal against the decision " + w.ID.String() + " has been answered"
	}
	return "from " + w.Until.Format(time.RFC3339) + " on: the decision " + w.ID.String() + " is too recent"
}

// Waits returns the matters for which an erasure waits, at most one of each kind and publisher: of
// several decisions the one that waits longest.
func Waits(ctx context.Context, s Store, u account.User, now time.Time) (waits []Wait, err error) {
	developers := []uuid.UUID{u.DeveloperID}
	for _, seat := range u.Seats {
		developers = append(developers, seat.DeveloperID)
	}
	for _, developer := range developers {
		open, err := s.Cases.Quarantines(ctx, ledger.QuarantineQuery{Developer: developer, Open: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		for i := range open {
			waits = append(waits, Wait{Kind: WaitCase, ID: open[i].ID})
		}
	}
	disputed, err := s.Ledger.DisputeOpen(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	if disputed {
		waits = append(waits, Wait{Kind: WaitDispute})
	}
	ofDecisions, err := waitsOfDecisions(ctx, s.Audit, u.ID, now)
	return append(waits, ofDecisions...), err
}

func waitsOfDecisions(ctx context.Context, s Audit, owner uuid.UUID, now time.Time) (waits []Wait, err error) {
	open, _, err := s.Decisions(ctx, decision.Query{OwnerID: owner, Open: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	for i := range open {
		waits = append(waits, Wait{Kind: WaitAppeal, ID: open[i].ID})
	}
	for offset := 0; ; offset += page {
		list, _, err := s.Decisions(ctx, decision.Query{OwnerID: owner, Limit: page, Offset: offset})
		if err != nil {
			return nil, err
		}
		for i := range list { // newest first, so the first one that waits does so longest
			d := &list[i]
			if until, held := d.HoldsErasure(now); held && !until.IsZero() {
				return append(waits, Wait{Kind: WaitDecision, ID: d.ID, Until: until}), nil
			}
			if d.At.Before(now.Add(-decision.AppealTime)) {
				return waits, nil
			}
		}
		if len(list) < page {
			return waits, nil
		}
	}
}

// waiting returns errs.Conflict with the matters for which the erasure of u waits, and with the time
// of the last one if all have one.
func waiting(ctx context.Context, s Store, u account.User, now time.Time) error {
	waits, err := Waits(ctx, s, u, now)
	if err != nil || len(waits) == 0 {
		return err
	}
	reasons := make([]string, len(waits))
	var until time.Time
	dated := true
	for i := range waits {
		reasons[i] = waits[i].reason()
		if dated = dated && !waits[i].Until.IsZero(); waits[i].Until.After(until) {
			until = waits[i].Until
		}
	}
	refused := errs.New(errs.Conflict, "the account can be erased %s", strings.Join(reasons, ", and "))
	refused = refused.With("waits", waits)
	if dated {
		refused = refused.With("until", until)
	}
	return refused
}
