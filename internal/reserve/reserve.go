// Package reserve is the protocol by which a campaign's budget is reserved before an ad is served.
// Three parties speak it: settlement publishes how much room each campaign has and what of the
// reservations it has used up ([Room], [Released]), the shared store counts what every node holds,
// and a node asks it for more or gives back ([Call], [LeaseRequest]).
//
// The package has values and limits only. The store's side is internal/redis, the node's
// ingress/budget, the publisher's consumers/project.
//
// # Not obvious
//
// Reservations are counted by campaign and minute of the auction. Settlement can say how much of
// a minute it used up, in one row, from the token alone, so no key for a single ad is kept
// anywhere. A room and what was released of its reservations come from one PostgreSQL snapshot
// and enter Redis in one script; between them a price would be free twice.
package reserve

import (
	"math"
	"time"

	"adnet/internal/money"
)

const (
	// MaxMinutes is the longest that a served ad's price stays reserved, in minutes from its
	// auction.
	MaxMinutes = 60
	// ReleaseFor is how long after the auction a settled event still releases something, a margin
	// included; later every store has forgotten the reservation.
	ReleaseFor = (MaxMinutes + 5) * time.Minute
)

// MaxClockSkew is how far a node's clock may be from the store's. Windows end by the store's clock
// and auctions are dated by the node's, so beyond it a reservation could end before its beacon
// counts as late, and a day's budget be given to auctions of another day. A new day's budget is
// granted twice this long after midnight: by then it has begun on every node.
const MaxClockSkew = time.Second

// Unlimited is a [Room]'s Balance where no balance limits the campaign.
const Unlimited = money.Micros(math.MaxInt64)
