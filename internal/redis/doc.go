// Package redis is the shared memory of the serving nodes: the catalog of campaigns that auctions
// choose from, how much each may still spend, and which nodes are alive. It is the only place that
// speaks to Redis.
//
// Redis is a projection and never the truth. Every object carries a version and an older one never
// replaces a newer one, so writers may repeat and race. Everything can be rebuilt from the stores:
// a Redis that was emptied is noticed by [Campaigns.Head] and by [ErrLost]. Nothing here decides
// money.
//
// All keys of the catalog share one hash tag and so one slot of a cluster.
//
// # Not obvious
//
// Several windows share a minute of reservations. Releases do not name their window, so
// reservations past their window still count against them before the others. A mixed campaign is a
// little careful, never careless. A bid's price comes back when its exp is over, not at the loss
// notice: any node may get the notice, and only the node that bid could give it back.
//
// Nothing expires while releases are not projected: the time of reservations is the projector's
// last beat.
package redis
