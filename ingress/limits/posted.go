package limits

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Clicks that a publisher's server reports (POST and MCP of rest and mcp ads) cannot be judged by
// their request: it is the server's. They are judged by their number: of a publisher's clicks as
// many count in a minute, and in a day, as the network's click rate gives for the ads that were
// sold to it meanwhile, what chance adds to that, and a few.
//
// The click rate is that of links that readers followed, per ad sold to servers, over all
// publishers and the last day: what servers report does not raise it. Ads are counted where they
// are sold, so that a repeated beacon counts for nothing.
const (
	postedFree   = 10     // clicks that count whatever the number of ads
	postedSigmas = 3      // standard deviations above the mean
	rateFrom     = 10_000 // ads below which the network's click rate is the setting
	countedMax   = 1 << 16
)

// posted is the state of the rule.
type posted struct {
	least     float64                     // clicks per ad; 0 switches the rule off
	reported  *lru.Cache[uuid.UUID, bool] // auctions whose reported click counted: a repeat uses nothing up
	followed  *lru.Cache[uuid.UUID, bool] // auctions whose link a reader followed
	ads, read atomic.Int64                // of the network, not yet in its meters
}

func (p *posted) begin(least float64) (err error) {
	p.least = least
	if p.reported, err = lru.New[uuid.UUID, bool](countedMax); err == nil {
		p.followed, err = lru.New[uuid.UUID, bool](countedMax)
	}
	return err
}

// Sold counts an ad that was sold to a publisher's server at now.
func (l *Limits) Sold(publisher uuid.UUID, now time.Time) {
	if l.posted.least <= 0 {
		return
	}
	l.posted.ads.Add(1)
	s := l.shardOf(publisher)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.addTo(s, soldMinute, publisher, now)
	l.addTo(s, soldDay, publisher, now)
}

// Followed counts the link of an ad that a reader followed, once per auction.
func (l *Limits) Followed(auction uuid.UUID) {
	if l.posted.least <= 0 {
		return
	}
	if known, _ := l.posted.followed.ContainsOrAdd(auction, true); !known {
		l.posted.read.Add(1)
	}
}

// Reported says whether a click that a publisher's server reports at now is inside what the ads
// sold to it may have, and counts it if so. A click of an auction that counted is inside again. It
// makes no network call and refuses nothing by itself.
func (l *Limits) Reported(publisher, auction uuid.UUID, now time.Time) bool {
	p := &l.posted
	if p.least <= 0 || p.reported.Contains(auction) {
		return true
	}
	rate := l.clickRate(now)
	s := l.shardOf(publisher)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, window := range [...]struct{ ads, clicks byte }{{soldMinute, reportedMinute}, {soldDay, reportedDay}} {
		ads, clicks := l.meterOf(s, window.ads, publisher, now).sum, l.meterOf(s, window.clicks, publisher, now).sum
		if clicks >= usualClicks(rate, ads) {
			l.stopped[window.clicks].Inc()
			return false
		}
	}
	l.addTo(s, reportedMinute, publisher, now)
	l.addTo(s, reportedDay, publisher, now)
	p.reported.Add(auction, true)
	return true
}

// usualClicks is how many clicks a number of ads may have at a click rate.
func usualClicks(rate float64, ads int64) int64 {
	mean := rate * float64(max(0, ads))
	return postedFree + int64(mean+postedSigmas*math.Sqrt(mean))
}

// clickRate is the network's, at least the setting.
func (l *Limits) clickRate(now time.Time) float64 {
	l.countNetwork(now)
	s := l.shardOf(uuid.Nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	ads, clicks := l.meterOf(s, networkAds, uuid.Nil, now).sum, l.meterOf(s, networkClicks, uuid.Nil, now).sum
	if ads < rateFrom {
		return l.posted.least
	}
	return max(l.posted.least, min(1, float64(clicks)/float64(ads)))
}

// countNetwork moves what was counted without a lock to the meters that nodes share.
func (l *Limits) countNetwork(now time.Time) {
	for _, sum := range [...]struct {
		id byte
		n  *atomic.Int64
	}{{networkAds, &l.posted.ads}, {networkClicks, &l.posted.read}} {
		if n := sum.n.Swap(0); n > 0 {
			l.count(sum.id, ownerKey(sum.id, uuid.Nil), int32(min(n, math.MaxInt32)), now)
		}
	}
}

// ownerKey is the key of a publisher's (the network's: uuid.Nil) count of a class.
func ownerKey(id byte, owner uuid.UUID) key {
	k := key(owner)
	k[0] = id // a UUID has enough other bytes
	return k
}

// shardOf is the shard of all classes of a publisher.
func (l *Limits) shardOf(owner uuid.UUID) *shard { return l.shards[owner[len(owner)-1]%shards] }

// meterOf finds the meter of a publisher's class. The shard's lock is held.
func (l *Limits) meterOf(s *shard, id byte, owner uuid.UUID, now time.Time) *meter {
	return s.meter(ownerKey(id, owner), &l.classes[id], l.classes[id].bucket(now))
}

// addTo counts one. The shard's lock is held.
func (l *Limits) addTo(s *shard, id byte, owner uuid.UUID, now time.Time) {
	m := l.meterOf(s, id, owner, now)
	m.add(m.newest, 1)
	s.dirty[ownerKey(id, owner)] = struct{}{}
}
