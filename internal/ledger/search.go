package ledger

import (
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// MaxFound is the maximum number of movements or heads in one result.
const MaxFound = 200

// Search selects movements of the ledger, newest first. The zero value selects everything.
type Search struct {
	Account Account // one of their entries is in it
	// Subjects are charged campaigns, minting publishers or paying advertisers. A movement of any
	// of them matches.
	Subjects    []uuid.UUID
	Transaction uuid.UUID
	Kind        Kind
	Since       time.Time // inclusive
	Until       time.Time // exclusive
	Before      Position  // only older ones: the next page
	Limit       int       // 1 to MaxFound
}

// Position is the place of a movement in the order of a [Search]: the entry number if the search
// names an account, otherwise time and id. The zero Position precedes the newest movement.
type Position struct {
	Seq int64
	At  time.Time
	ID  uuid.UUID
}

// Found is a movement with all its entries.
type Found struct {
	Transaction
	Links    []Link // the entries at their positions in the chains, by leg; only fields specific to an entry
	Position Position
}

// Matches reports whether s selects the movement, regardless of Before and Limit.
func (s *Search) Matches(t *Transaction) bool {
	return (s.Account == "" || slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Account == s.Account })) &&
		(len(s.Subjects) == 0 || slices.Contains(s.Subjects, t.Subject)) &&
		(s.Transaction == uuid.Nil || s.Transaction == t.ID) &&
		(s.Kind == "" || s.Kind == t.Kind) && (s.Since.IsZero() || !t.At.Before(s.Since)) &&
		(s.Until.IsZero() || t.At.Before(s.Until))
}

// Size returns Limit within its bounds.
func (s *Search) Size() int { return min(max(s.Limit, 1), MaxFound) }

// SideHead is the end of one side's chain.
type SideHead struct {
	Side
	Head
}

// HeadQuery selects heads in the order of [Side.Compare].
type HeadQuery struct {
	Account Account // only this account; empty for all
	After   Side    // the last side of the previous page
	Limit   int     // 1 to MaxFound
}

// Size returns Limit within its bounds.
func (q *HeadQuery) Size() int { return min(max(q.Limit, 1), MaxFound) }

// Kinds lists the kinds of movements.
var Kinds = []string{
	string(KindCharge), string(KindMint), string(KindCreditFund), string(KindCreditRelease), string(KindCreditMature),
	string(KindCreditTakeBack),
	string(KindCreditExpire), string(KindDeposit), string(KindRefund), string(KindDispute), string(KindDisputeWon),
	string(KindRefundFailed), string(KindParkedCredit), string(KindParkedDebit),
	string(KindMintRelease),
	string(KindMintClawback), string(KindTrafficRefund),
}

var accountForm = regexp.MustCompile(
	`^(house|advertiser|developer|developer-pending|developer-held|held):[0-9a-z_-]{1,40}$`,
)

// Named reports whether text is a valid name of a ledger account, with entries or without.
func Named(text string) bool { return accountForm.MatchString(text) }
