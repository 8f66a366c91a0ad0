package limits

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Clicks that a publisher's server reports (POST and MCP of rest and mcp ads) cannot be judged by
// their request, which is the server's. They are judged by their number: per minute and per day, a
// publisher's clicks count up to the network's click rate times its sold ads, plus a statistical
// margin and a constant.
//
// The click rate is the rate of redirects followed by readers per ad sold to servers, over all
// publishers and the last day. Clicks reported by servers do not raise it. Ads are counted when
// they are sold, so a repeated beacon counts for nothing.
const (
	postedFree   = 10     // clicks that always count
	postedSigmas = 3      // standard deviations above the mean
	rateFrom     = 10_000 // minimum number of ads; below it the setting replaces the network's click rate
	countedMax   = 1 << 16
)

// posted holds the state of the rule.
type posted struct {
	least     float64                     // clicks per ad; 0 disables the rule
	reported  *lru.Cache[uuid.UUID, bool] // auctions whose reported click counted: repeats do not count again
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

// Sold counts an ad sold to a publisher's server at now.
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

// Followed counts a link that a reader followed, once per auction.
func (l *Limits) Followed(auction uuid.UUID) {
	if l.posted.least <= 0 {
		return
	}
	if known, _ := l.posted.followed.ContainsOrAdd(auction, true); !known {
		l.posted.read.Add(1)
	}
}

// Reported reports whether a click reported by a publisher's server at now is within the number
// allowed for its sold ads, and counts it if so. A repeated click of a counted auction is within it
// as well. Reported makes no network call and rejects nothing itself.
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

// usualClicks returns the number of clicks that a number of ads may have at a click rate.
func usualClicks(rate float64, ads int64) int64 {
	mean := rate * float64(max(0, ads))
	return postedFree + int64(mean+postedSigmas*math.Sqrt(mean))
}

// clickRate returns the network's click rate, at least the setting.
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

// countNetwork moves the lock-free counts to the meters that nodes share.
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

// ownerKey returns the key of a publisher's count of a class (uuid.Nil is the network).
func ownerKey(id byte, owner uuid.UUID) key {
	k := key(owner)
	k[0] = id // a UUID has enough other bytes
	return k
}

// shardOf returns the shard of all classes of a publisher.
func (l *Limits) shardOf(owner uuid.UUID) *shard { return l.shards[owner[len(owner)-1]%shards] }

// meterOf returns the meter of a publisher's class. The shard's lock is held.
func (l *Limits) meterOf(s *shard, id byte, owner uuid.UUID, now time.Time) *meter {
	return s.meter(ownerKey(id, owner), &l.classes[id], l.classes[id].bucket(now))
}

// addTo counts one event. The shard's lock is held.
func (l *Limits) addTo(s *shard, id byte, owner uuid.UUID, now time.Time) {
	m := l.meterOf(s, id, owner, now)
	m.add(m.newest, 1)
	s.dirty[ownerKey(id, owner)] = struct{}{}
}
