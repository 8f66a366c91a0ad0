package redis

import (
	"encoding/base64"
	"strconv"

	"adnet/internal/campaign"
)

// keys holds the names of everything in Redis, with the layout that the scripts rely on. The
// catalog and the reservations share one hash tag, and so one slot of a cluster.
type keys struct {
	prefix string // of the installation

	objects  string // hash: campaign id → JSON, sealed
	versions string // sorted set: campaign id by config version
	head     string // versions up to this one are complete
	epoch    string // random, created with the first object: identifies the catalog
	rooms    string // hash: campaign id → "version|JSON"
	nodes    string // sorted set: node by the time of its last heartbeat, ms of Redis's clock
	applied  string // hash: node → the head it has applied
	changes  string // channel: every accepted change

	processes string // sorted set: process by the time of its last report, ms of Redis's clock
	reports   string // hash: process → its report, JSON
	jobs      string // hash: recurring job → its last run, JSON

	reservations string // hash: epoch, opens and beat (ms of Redis's clock) of the reservations
	curves       string // hash: campaign id → traffic curve
}

func keysOf(prefix string) keys {
	p := prefix + ":{catalog}:"
	return keys{
		prefix:  prefix,
		objects: p + "objects", versions: p + "versions", head: p + "head", epoch: p + "epoch", rooms: p + "rooms",
		nodes: p + "nodes", applied: p + "applied", changes: p + "changes",
		processes: prefix + ":{roster}:processes", reports: prefix + ":{roster}:said", jobs: prefix + ":{roster}:jobs",
		reservations: p + "reserved:state", curves: prefix + ":{pacing}:curves",
	}
}

// confirmed names a list of the nodes that applied a config version.
func (k *keys) confirmed(version int64) string {
	return k.prefix + ":{catalog}:confirm:" + strconv.FormatInt(version, 10)
}

// reserved returns the names of an epoch of the reservations.
func (k *keys) reserved(epoch int64) epochKeys {
	return epochKeys{k.prefix + ":{catalog}:reserved:" + strconv.FormatInt(epoch, 10) + ":"}
}

// exchange names a stream of messages between the nodes.
func (k *keys) exchange(name string) string { return k.prefix + ":{" + name + "}:exchange" }

// clicks names a sorted set of a network: auctions with a counted click by the click's time, ms. The
// keys of its addresses and readers begin with it.
func (k *keys) clicks(network string) string { return k.prefix + ":clicks:{" + network + "}" }

// flags names a hash of a publisher: unknown flag → "count last", last in ms. flagged names a
// sorted set: the publishers with unknown flags by the time of the last one, ms.
func (k *keys) flags(publisher string) string { return k.prefix + ":{flags}:" + publisher }
func (k *keys) flagged() string               { return k.prefix + ":{flags}:publishers" }

// session names a hash of a session's day: auction id → exposure.
func (k *keys) session(session campaign.SessionKey, day int32) string {
	return k.prefix + ":{seen:" + base64.RawURLEncoding.EncodeToString(session[:]) + "}:" + strconv.Itoa(int(day))
}

// refusals names a list: the marks of conversations refused in an hour.
func (k *keys) refusals(hour int64) string {
	return k.prefix + ":{refusals}:" + strconv.FormatInt(hour, 10)
}

// refusalCounts names a hash: API key → number of marks that it set in the hour.
func (k *keys) refusalCounts(hour int64) string { return k.refusals(hour) + ":keys" }

// seen names the mark of [Client.Seen].
func (k *keys) seen(mark string) string { return k.prefix + ":seen:" + mark }

// epochKeys holds the names of one epoch of the reservations, so that nothing of a lost or older
// store is ever read in a new one.
type epochKeys struct{ prefix string }

// seen names a hash: node or projector → number of its last call.
func (k epochKeys) seen() string { return k.prefix + "seen" }

// campaign names a hash: `g:minute:window` → sum that nodes hold, `s:minute` → the part that
// settlement released, `out` → the reserved amount, `counted` → its part of the advertiser's sum,
// `limited`, `at`.
func (k epochKeys) campaign(id string) string { return k.prefix + "c:" + id }

// advertiser names a hash: `out` → the reserved amount of all campaigns that the balance limits.
func (k epochKeys) advertiser(id string) string { return k.prefix + "a:" + id }

// holder names a hash: `minute:window` → the amount that a node holds of a campaign, and
// `q:minute:window` → the number of the call that set it. as distinguishes the holders of one node.
func (k epochKeys) holder(id, node, as string) string {
	return k.prefix + "n:" + id + ":" + node + as
}
