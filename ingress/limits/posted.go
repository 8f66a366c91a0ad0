package limits

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Clicks and views that a publisher's server reports (POST and MCP of rest and mcp ads) cannot be
// judged by their request, which is the server's. They are judged by their number: per minute and
// per day, a publisher's reports count up to the network's rate times its sold ads, plus a
// statistical margin and a constant.
//
// The click rate is the rate of redirects followed by readers per ad sold to servers, the view rate
// that of views per impression in readers' pages, each over all publishers and the last day. What
// servers report does not raise them. Sold ads are counted when they are sold, so a repeated beacon
// counts for nothing.
const (
	postedFree   = 10     // acts that always count
	postedSigmas = 3      // standard deviations above the mean
	rateFrom     = 10_000 // minimum number of ads; below it the setting replaces the network's rate
	countedMax   = 1 << 16
)

// posted holds the state of the rule for one kind of act.
type posted struct {
	least       float64                     // acts per ad; 0 disables the rule
	minute, day byte                        // classes of a publisher's reported acts
	all, acted  byte                        // classes of the network's ads, and of readers' acts
	reported    *lru.Cache[uuid.UUID, bool] // auctions whose reported act counted: repeats do not count again
	ads, acts   pendingCount                // of the network
}

// pendingCount counts auctions that are not yet in their meter, each once.
type pendingCount struct {
	known *lru.Cache[uuid.UUID, bool]
	n     atomic.Int64
}

func (t *pendingCount) add(auction uuid.UUID) {
	if known, _ := t.known.ContainsOrAdd(auction, true); !known {
		t.n.Add(1)
	}
}

func (l *Limits) beginPosted(cfg Config) (err error) {
	l.clicks = posted{
		least: cfg.PostedClickRate, minute: reportedMinute, day: reportedDay, all: networkAds, acted: networkClicks,
	}
	l.views = posted{
		least: cfg.PostedViewRate, minute: viewedMinute, day: viewedDay, all: networkShown, acted: networkViews,
	}
	for _, p := range []*posted{&l.clicks, &l.views} {
		for _, cache := range []**lru.Cache[uuid.UUID, bool]{&p.reported, &p.ads.known, &p.acts.known} {
			if *cache, err = lru.New[uuid.UUID, bool](countedMax); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sold counts an ad sold to a publisher's server at now.
func (l *Limits) Sold(publisher uuid.UUID, now time.Time) {
	if l.clicks.least <= 0 && l.views.least <= 0 {
		return
	}
	l.clicks.ads.n.Add(1)
	s := l.shardOf(publisher)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.addTo(s, soldMinute, publisher, now)
	l.addTo(s, soldDay, publisher, now)
}

// Followed counts a link that a reader followed, once per auction.
func (l *Limits) Followed(auction uuid.UUID) {
	if l.clicks.least > 0 {
		l.clicks.acts.add(auction)
	}
}

// Viewed counts an ad that a reader's page reported, once per auction: its impression, or its view.
func (l *Limits) Viewed(auction uuid.UUID, view bool) {
	switch {
	case l.views.least <= 0:
	case view:
		l.views.acts.add(auction)
	default:
		l.views.ads.add(auction)
	}
}

// Reported reports whether a click reported by a publisher's server at now is within the number
// allowed for its sold ads, and counts it if so. A repeated click of a counted auction is within it
// as well. Reported makes no network call and rejects nothing itself.
func (l *Limits) Reported(publisher, auction uuid.UUID, now time.Time) bool {
	return l.report(&l.clicks, publisher, auction, now)
}

// ReportedView is the same as [Limits.Reported] for views.
func (l *Limits) ReportedView(publisher, auction uuid.UUID, now time.Time) bool {
	return l.report(&l.views, publisher, auction, now)
}

func (l *Limits) report(p *posted, publisher, auction uuid.UUID, now time.Time) bool {
	if p.least <= 0 || p.reported.Contains(auction) {
		return true
	}
	rate := l.rateOf(p, now)
	s := l.shardOf(publisher)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, window := range [...]struct{ ads, acts byte }{{soldMinute, p.minute}, {soldDay, p.day}} {
		ads, acts := l.meterOf(s, window.ads, publisher, now).sum, l.meterOf(s, window.acts, publisher, now).sum
		if acts >= usualActs(rate, ads) {
			l.stopped[window.acts].Inc()
			return false
		}
	}
	l.addTo(s, p.minute, publisher, now)
	l.addTo(s, p.day, publisher, now)
	p.reported.Add(auction, true)
	return true
}

// usualActs returns the number of acts that a number of ads may have at a rate.
func usualActs(rate float64, ads int64) int64 {
	mean := rate * float64(max(0, ads))
	return postedFree + int64(mean+postedSigmas*math.Sqrt(mean))
}

// rateOf returns the network's rate of acts, at least the setting.
func (l *Limits) rateOf(p *posted, now time.Time) float64 {
	l.countNetwork(p, now)
	s := l.shardOf(uuid.Nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	ads, acts := l.meterOf(s, p.all, uuid.Nil, now).sum, l.meterOf(s, p.acted, uuid.Nil, now).sum
	if ads < rateFrom {
		return p.least
	}
	return max(p.least, min(1, float64(acts)/float64(ads)))
}

// countNetwork moves the lock-free counts to the meters that nodes share.
func (l *Limits) countNetwork(p *posted, now time.Time) {
	for _, sum := range [...]struct {
		id byte
		n  *atomic.Int64
	}{{p.all, &p.ads.n}, {p.acted, &p.acts.n}} {
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
