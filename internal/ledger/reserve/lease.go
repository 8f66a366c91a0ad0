package reserve

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// LeaseRequest asks to move a node's share of a campaign, for the auctions of one minute, to an
// absolute amount. Amounts are sums of the node's reservations in micro-USD and of the amount that
// it may still reserve without a call.
type LeaseRequest struct {
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	Minute       day.Minute
	Window       int64 // minutes after which the held amount counts as expired, 1 … [MaxMinutes]
	Bid          bool  // for OpenRTB bids, which are counted separately

	// Amount is the requested amount. With Exact the result is this amount, more or less than
	// before: the store accepts the node's own count. Otherwise it is raised as far as the room
	// allows and never lowered.
	Amount money.Micros
	Exact  bool
	Least  money.Micros // least useful amount: the request is not raised if the room allows less
	Step   money.Micros // one reservation, > 0; raised by whole steps
	Price  money.Micros // maximum price of one charge: nothing is raised in a smaller room
}

// Refusal is the reason why a request was not raised to a useful amount.
type Refusal int

// The refusals.
const (
	Granted  Refusal = iota
	NoRoom           // the rest of the budgets or of the balance is reserved or spent
	NoBudget         // the campaign's room is not known (yet)
	Opening          // the reservations of a rebuilt store are still being gathered
)

// LeaseGrant is the reply to a [LeaseRequest].
type LeaseGrant struct {
	Amount  money.Micros // absolute, after the request
	Refusal Refusal
}

// State reports whether a [Call] counted, and if not, why.
type State int

// The states of the shared store of reservations, as one node sees it.
const (
	Counted State = iota
	// Lost: the store is empty, older than what the node has seen, or not rebuilt yet. Nothing
	// counted.
	Lost
	// Moved: the store was rebuilt under another epoch. Nothing counted; the node has to report its
	// reservations.
	Moved
	// Skewed: the node's clock and the store's are more than [MaxClockSkew] apart. Nothing counted.
	Skewed
)

// Call is one exchange of a node with the shared store of reservations.
type Call struct {
	Node  string
	Epoch int64 // that the node works in
	// Seq numbers the node's calls in the epoch; a call that arrives behind a later one about the
	// same request changes nothing. Acked is the highest answered number: a store without it lost
	// something.
	Seq, Acked int64
	// Clock is the node's time of the call; the zero time is not compared.
	Clock    time.Time
	Requests []LeaseRequest
}

// Reply is the reply to a [Call]. Granted is in its order, and empty unless the call was counted.
type Reply struct {
	State State
	Epoch int64 // of the store; 0 for none
	Nodes int   // live ones, ≥ 1
	// Ahead is Clock less the store's time at the call: the lead of the node's clock, less the time
	// of transmission.
	Ahead time.Duration
	// Idle is the time since a projector was last at work; 0 unless the call was counted.
	Idle time.Duration
	// Grants reports whether requests may be raised; false while a rebuilt store gathers
	// reservations, and unless counted.
	Grants  bool
	Granted []LeaseGrant
}
