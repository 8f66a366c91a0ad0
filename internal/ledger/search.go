package ledger

import (
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// MaxFound is the most movements or heads of one answer.
const MaxFound = 200

// Search selects movements of the ledger, newest first. Zero values select everything.
type Search struct {
	Account Account // one of their entries is on it
	// Subjects are the campaigns charged, publishers minted for or advertisers who paid in: one of
	// these.
	Subjects    []uuid.UUID
	Transaction uuid.UUID
	Kind        Kind
	Since       time.Time // included
	Until       time.Time // excluded
	Before      Place     // only older ones: the next page
	Limit       int       // 1 to MaxFound
}

// Place is where a movement stands in the order of a [Search]: by number where the search names an
// account, whose entries are numbered, otherwise by time and id. The zero Place is before the
// newest.
type Place struct {
	Seq int64
	At  time.Time
	ID  uuid.UUID
}

// Found is a movement with all its entries.
type Found struct {
	Transaction
	Links []Link // the entries at their places in the chains, by leg; only what an entry has of its own
	Place Place
}

// Matches says whether s selects the movement, Before and Limit aside.
func (s *Search) Matches(t *Transaction) bool {
	return (s.Account == "" || slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Account == s.Account })) &&
		(len(s.Subjects) == 0 || slices.Contains(s.Subjects, t.Subject)) &&
		(s.Transaction == uuid.Nil || s.Transaction == t.ID) &&
		(s.Kind == "" || s.Kind == t.Kind) && (s.Since.IsZero() || !t.At.Before(s.Since)) &&
		(s.Until.IsZero() || t.At.Before(s.Until))
}

// Size is Limit inside its bounds.
func (s *Search) Size() int { return min(max(s.Limit, 1), MaxFound) }

// SideHead is the end of one side's chain.
type SideHead struct {
	Side
	Head
}

// HeadQuery selects heads in the order of [Side.Compare].
type HeadQuery struct {
	Account Account // this one only; empty for all
	After   Side    // the last one of the page before
	Limit   int     // 1 to MaxFound
}

// Size is Limit inside its bounds.
func (q *HeadQuery) Size() int { return min(max(q.Limit, 1), MaxFound) }

// Kinds are the kinds of movements.
var Kinds = []string{
	string(KindCharge), string(KindMint), string(KindCreditFund), string(KindCreditRelease), string(KindCreditMature),
	string(KindCreditTakeBack),
	string(KindCreditExpire), string(KindDeposit), string(KindRefund), string(KindDispute), string(KindDisputeWon),
	string(KindMintRelease),
	string(KindMintClawback), string(KindTrafficRefund),
}

var accountForm = regexp.MustCompile(
	`^(house|advertiser|developer|developer-pending|developer-held|held):[0-9a-z_-]{1,40}$`,
)

// Named says whether text is the name of an account of the ledger, whether it has entries or not.
func Named(text string) bool { return accountForm.MatchString(text) }
