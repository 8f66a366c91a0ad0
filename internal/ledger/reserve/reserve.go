// Package reserve is the protocol that reserves a campaign's budget before an ad is served. It has
// three parties: settlement publishes each campaign's room and the used part of its reservations
// ([Room], [Released]), the shared store counts the reservations of every node, and a node requests
// more or returns some ([Call], [LeaseRequest]).
//
// The package has values and limits only. The store's side is internal/store/redis, the node's
// ingress/budget, and the publisher's consumers/project.
//
// # Not obvious
//
// Reservations are counted by campaign and minute of the auction. Settlement can therefore report
// the used part of a minute in one row, from the token alone, and no key per ad is needed anywhere.
// A room and the releases of its reservations come from one PostgreSQL snapshot and enter Redis in
// one script: otherwise a price could be free twice in between.
package reserve

import (
	"math"
	"time"

	"adnet/internal/money"
)

const (
	// MaxMinutes is the longest reservation of a served ad's price, in minutes from its auction.
	MaxMinutes = 60
	// ReleaseFor is the time after the auction in which a settled event releases something, with a
	// margin; later every store has dropped the reservation.
	ReleaseFor = (MaxMinutes + 5) * time.Minute
)

// MaxClockSkew is the largest difference between a node's clock and the store's. Windows end by the
// store's clock and auctions are dated by the node's. With a larger skew a reservation could end
// before its beacon counts as late, and a day's budget could be granted to auctions of another day.
// A new day's budget is granted twice this long after midnight: by then it has begun on every node.
const MaxClockSkew = time.Second

// Unlimited is the Balance of a [Room] whose campaign no balance limits.
const Unlimited = money.Micros(math.MaxInt64)
