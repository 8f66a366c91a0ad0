// Package standing computes the votes of families from settled charges. Rules that count
// advertisers or publishers sum these votes instead, because an account costs nothing.
//
// Everything here is pure and computes with integers.
package standing

import (
	"maps"
	"math"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
)

const (
	// Days is the number of days whose charges count, with the current one.
	Days = 30
	// Price is the sum of charges of a full vote.
	Price = 5 * money.USD
	// Enough is the number of advertisers' votes, in full votes, from which on only charges count.
	Enough = 20
	// Step is the precision of stored votes: each change of one costs a campaign version.
	Step = campaign.FullVote / 20
)

// Since returns the first day whose charges count on a day.
func Since(today day.Day) day.Day { return today - Days + 1 }

// Account is what votes need of an account.
type Account struct {
	ID     uuid.UUID // also its advertiser id
	Parent uuid.UUID // the owner of a seat; zero for every other account
	// Developer is its id as a publisher.
	Developer uuid.UUID
	Created   time.Time
	Funded    bool // it has prepaid money
}

// Charge is the sum that a payer was charged for a publisher's traffic, without what was taken back
// or is owed: money that the payer paid in, or Credits that such charges backed.
type Charge struct {
	Payer, Publisher uuid.UUID // accounts
	Amount           money.Micros
}

// Ballot holds what votes are computed from.
type Ballot struct {
	// Families holds the place of each account that is in a family with others.
	Families map[uuid.UUID]family.Member
	// Charges are those of the last [Days]; a pair may be listed more than once.
	Charges []Charge
	// Reviewed and Funded are the accounts of which a person approved a campaign, and those that
	// can pay.
	Reviewed, Funded map[uuid.UUID]bool
	// Demo holds the families of demo accounts, which vote only among themselves.
	Demo map[uuid.UUID]bool
}

// Votes holds the votes by family, in parts per million; a missing family has none.
type Votes struct {
	Advertisers, Publishers map[uuid.UUID]int64
}

// Count returns the votes. A charge counts for the payer's family as an advertiser and for the
// other one as a publisher; a charge within a family counts for neither. While the advertisers'
// votes sum to less than [Enough], each family with an approved campaign and a balance votes at
// least with the missing part.
//
// Guarantee: a family that was never charged and has no balance changes no vote of another. Neither
// does the demo: its families have votes of their own count.
func (b *Ballot) Count() Votes {
	v := b.among(false)
	if len(b.Demo) > 0 {
		shown := b.among(true)
		maps.Copy(v.Advertisers, shown.Advertisers)
		maps.Copy(v.Publishers, shown.Publishers)
	}
	return v
}

// among counts the votes of the demo's families, or of all others. A charge between the two proves
// nothing: the passwords of the demo are public.
func (b *Ballot) among(demo bool) Votes {
	paid, earned := map[uuid.UUID]money.Micros{}, map[uuid.UUID]money.Micros{}
	for i := range b.Charges {
		c := &b.Charges[i]
		payer, publisher := b.familyOf(c.Payer), b.familyOf(c.Publisher)
		if payer != publisher && c.Amount > 0 && b.Demo[payer] == demo && b.Demo[publisher] == demo {
			paid[payer] = paid[payer].AddSaturated(c.Amount)
			earned[publisher] = earned[publisher].AddSaturated(c.Amount)
		}
	}
	v := Votes{Advertisers: votes(paid), Publishers: votes(earned)}
	least := v.missing()
	if least == 0 {
		return v
	}
	funded := b.familiesOf(b.Funded)
	for id := range b.familiesOf(b.Reviewed) {
		if funded[id] && b.Demo[id] == demo {
			v.Advertisers[id] = max(v.Advertisers[id], least)
		}
	}
	return v
}

// missing returns (Enough - sum) ÷ Enough of the advertisers' votes, or 0.
func (v *Votes) missing() int64 {
	const enough = Enough * campaign.FullVote
	sum := int64(0)
	for _, vote := range v.Advertisers {
		if sum += vote; sum >= enough {
			return 0
		}
	}
	return (enough - sum) / Enough
}

func (b *Ballot) familyOf(account uuid.UUID) uuid.UUID { return family.Of(b.Families, account).Family }

func (b *Ballot) familiesOf(accounts map[uuid.UUID]bool) map[uuid.UUID]bool {
	families := map[uuid.UUID]bool{}
	for id, is := range accounts {
		if is {
			families[b.familyOf(id)] = true
		}
	}
	return families
}

func votes(charged map[uuid.UUID]money.Micros) map[uuid.UUID]int64 {
	v := make(map[uuid.UUID]int64, len(charged))
	for id, amount := range charged {
		if vote := Vote(amount); vote > 0 {
			v[id] = vote
		}
	}
	return v
}

// Vote returns min(1, charged ÷ [Price]) in parts per million.
func Vote(charged money.Micros) int64 {
	switch {
	case charged >= Price:
		return campaign.FullVote
	case charged <= 0:
		return 0
	}
	return int64(charged) * campaign.FullVote / int64(Price)
}

// Rounded returns a vote in whole steps of [Step], never more than it was.
func Rounded(vote int64) int64 { return vote / Step * Step }

// news is the smallest change of a rate or a ceiling that is sent to nodes, as a divisor.
const news = 20

// Differs reports whether a change is sent to nodes.
func Differs(known, next *campaign.Standing) bool {
	return known.Family != next.Family || known.Vote != next.Vote || known.Bound != next.Bound ||
		apart(known.ClickRate, next.ClickRate) || apart(known.ConvertRate, next.ConvertRate) ||
		apart(int64(known.Ceiling), int64(next.Ceiling))
}

func apart(known, next int64) bool {
	return (known == 0) != (next == 0) || math.Abs(float64(next)-float64(known))*news > math.Abs(float64(known))
}
