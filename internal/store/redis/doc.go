// Package redis is the shared memory of the serving nodes: the catalog of campaigns for auctions,
// the remaining budget of each, and the list of live nodes. No other package connects to Redis.
//
// Redis is a projection and never the truth. Every object carries a version and an older one never
// replaces a newer one, so writers may repeat and race. Everything can be rebuilt from the stores:
// [Campaigns.Head] and [ErrLost] detect an emptied Redis. Nothing here decides money.
//
// All keys of the catalog share one hash tag and so one slot of a cluster.
//
// # Not obvious
//
// Several windows share a minute of reservations. Releases do not name their window, so
// reservations past their window are used up by releases first. A mixed campaign is slightly
// careful, never careless. A bid's price is returned when its exp is over, not at the loss notice:
// any node may get the notice, and only the node that bid could return it.
//
// Nothing expires while releases are not projected: the clock of reservations is the projector's
// last beat.
package redis
