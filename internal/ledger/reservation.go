package ledger

import (
	"math"
	"time"

	"adnet/internal/day"
	"adnet/internal/money"

	"github.com/google/uuid"
)

const (
	// MaxReservation is the longest that a served ad's price stays reserved, in minutes from its auction.
	MaxReservation = 60
	// releaseFor is how long after the auction a settled event still releases something, a margin included; later
	// every store has forgotten the reservation.
	releaseFor = (MaxReservation + 5) * time.Minute
)

// Unlimited is a [Room]'s Balance where no balance limits the campaign.
const Unlimited = money.Micros(math.MaxInt64)

// Released is how much of a campaign's reservations of one minute's auctions settlement has used up, whatever the
// verdict was. It is an absolute sum and only grows.
type Released struct {
	CampaignID uuid.UUID
	Minute     day.Minute
	Amount     money.Micros // > 0
}

// releases says which minute's reservation a settled event uses up.
func (e *Event) releases() (day.Minute, bool) {
	minute, dated := day.MinuteOfUUID(e.AuctionID)
	return minute, dated && e.Proof == Signed && !e.Sandbox && e.ReceivedAt.Before(minute.Time().Add(releaseFor))
}

// Claim asks to move what a node holds of a campaign, for the auctions of one minute, to an absolute amount. Amounts
// are sums of the node's reservations in micro-USD and of what it may still reserve without asking.
type Claim struct {
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	Minute       day.Minute
	Window       int64 // minutes after which what is held counts as expired, 1 … MaxReservation
	Bid          bool  // held for OpenRTB bids, which are counted apart

	// Held is what is asked for. With Exact the answer is this amount, more or less than before: what the node says is
	// reserved is reserved. Otherwise it is raised as far as the room allows and never lowered.
	Held  money.Micros
	Exact bool
	Least money.Micros // raising to less than this is no use: then nothing is raised
	Step  money.Micros // one reservation, > 0; raised by whole steps
	Price money.Micros // what one charge may cost: nothing is raised while the room is smaller
}

// Refusal says why a claim was not raised to what is useful.
type Refusal int

// The refusals.
const (
	Granted  Refusal = iota
	NoRoom           // what is left of the budgets or of the balance is reserved or spent
	NoBudget         // the campaign's room is not known (yet)
	Opening          // the reservations of a rebuilt store are still being gathered
)

// Claimed is the answer to a [Claim].
type Claimed struct {
	Held    money.Micros // absolute, after it
	Refusal Refusal
}

// ClaimState says whether a [ClaimCall] counted.
type ClaimState int

// The states of the shared store of reservations, as one node sees it.
const (
	ClaimsCounted ClaimState = iota
	// ClaimsLost: the store is empty, older than what the node has seen, or not rebuilt yet. Nothing counted.
	ClaimsLost
	// ClaimsMoved: the store was rebuilt under another epoch. Nothing counted; the node has to say what it holds.
	ClaimsMoved
	// ClaimsSkewed: the node's clock and the store's are more than [MaxClockSkew] apart. Nothing counted.
	ClaimsSkewed
)

// MaxClockSkew is how far a node's clock may be from the store's. Windows end by the store's clock and auctions are dated
// by the node's, so beyond it a reservation could end before its beacon counts as late, and a day's budget be given
// to auctions of another day. A new day's budget is granted twice this long after midnight: by then it has begun on
// every node.
const MaxClockSkew = time.Second

// ClaimCall is one exchange of a node with the shared store of reservations.
type ClaimCall struct {
	Node  string
	Epoch int64 // that the node works in
	// Seq numbers the node's calls in the epoch; a call that arrives behind a later one about the same claim changes
	// nothing. Acked is the highest one that was answered: a store that does not know it lost something.
	Seq, Acked int64
	// Clock is the node's time when it calls; the zero time is not compared.
	Clock  time.Time
	Claims []Claim
}

// ClaimReply is the answer to a [ClaimCall]; Claims are in its order, and empty unless it was counted.
type ClaimReply struct {
	State ClaimState
	Epoch int64 // of the store; 0 for none
	Nodes int   // live ones, ≥ 1
	// Ahead is Clock less the store's time when it was asked: how far the node's clock is ahead, less the way there.
	Ahead  time.Duration
	Claims []Claimed
}
