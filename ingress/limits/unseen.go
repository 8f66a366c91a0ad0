package limits

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Each ad holds budget until it is shown or its reservation ends, so requests for ads that are
// never shown would take a campaign off the air. The unshown ads of one publisher, over all its
// keys and seats, may therefore hold a hundredth of a campaign's day, or more by the share that it
// shows of its last ads. Anyone can read a browser key, so one such key, and one network, may hold
// no more than the hundredth. What is held counts for an hour, the longest life of a reservation,
// and a bid until its exp.
const (
	// mostUnseen bounds what is held, so that it fits its tally.
	mostUnseen = 1000 * money.USD

	unseenShare = 100       // divisor of a campaign's day for a publisher that shows nothing
	judgedAds   = 1000      // last ads of a publisher on a surface whose shown share counts
	newAds      = 64        // ads of a publisher within an hour before its share is known
	newShare    = 4         // divisor of a campaign's day for all publishers together whose share is unknown
	certain     = 1_000_000 // of a share
)

// Hold counts an ad that is sold at now, against the daily budget of its campaign. If its
// publisher, its browser key or its network would hold too much of the campaign, Hold counts
// nothing and returns false. A single ad is accepted unless it costs more than 1,000 USD.
func (l *Limits) Hold(u *traffic.Unseen, daily money.Micros, now time.Time) bool {
	if u.Amount > mostUnseen || !l.holdPublisher(u, daily, now) {
		return false
	}
	if !u.Page {
		return true
	}
	byKey, byNetwork := pageKeys(u)
	most := min(daily/unseenShare, mostUnseen)
	if !l.holdPage(byKey, u, most, now) {
		l.unhold(u, now)
		return false
	}
	if !l.holdPage(byNetwork, u, most, now) {
		l.tallyAt(byKey, -int32(u.Amount), soldAt(u), now)
		l.unhold(u, now)
		return false
	}
	return true
}

// Release removes an ad that Hold counted and that is not returned.
func (l *Limits) Release(u *traffic.Unseen, now time.Time) {
	l.unhold(u, now)
	l.unholdPage(u, now)
}

// Lost ends a bid that its exchange reported as lost: it holds nothing and is none of its
// publisher's ads. Of all calls of Lost and [Limits.Seen] for an ad, only the first on a node
// counts.
func (l *Limits) Lost(u *traffic.Unseen, now time.Time) {
	if l.ended.first(u.Ad) {
		l.unhold(u, now)
	}
}

// Seen records that an ad was shown, so that it holds nothing any more. Of all calls of Seen and
// [Limits.Lost] for an ad, only the first on a node counts.
func (l *Limits) Seen(u *traffic.Unseen, now time.Time) {
	if !l.ended.first(u.Ad) {
		return
	}
	sold := soldAt(u)
	l.tallyAt(heldKey(u), -int32(min(u.Amount, mostUnseen)), sold, now)
	l.tallyAt(surfaceKey(adsShown, u.Publisher, u.Surface), 1, sold, now)
	l.unholdPage(u, now)
}

// holdPublisher counts an ad against its publisher.
func (l *Limits) holdPublisher(u *traffic.Unseen, daily money.Micros, now time.Time) bool {
	k, most := heldKey(u), min(daily/unseenShare, mostUnseen)
	held := l.holdUpTo(k, u, most, now)
	if !held {
		held = l.holdUpTo(k, u, max(most, l.shownOf(u, daily, now)), now) || l.holdNew(k, u, daily, now)
	}
	if !held {
		l.stopped[k[0]].Inc()
		return false
	}
	l.tallyAt(surfaceKey(adsSold, u.Publisher, u.Surface), 1, soldAt(u), now)
	return true
}

// holdUpTo counts an ad if no more than most is held.
func (l *Limits) holdUpTo(k key, u *traffic.Unseen, most money.Micros, now time.Time) bool {
	of, s := l.spans[k[0]], l.tallyShard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally(k, of, now)
	if t.sum() > int64(most) {
		return false
	}
	s.addTo(t, k, of.bucket(soldAt(u)), int32(u.Amount))
	return true
}

// shownOf returns the part of a campaign's day that the publisher may hold by the share that it
// shows.
func (l *Limits) shownOf(u *traffic.Unseen, daily money.Micros, now time.Time) money.Micros {
	share := l.shownShare(u.Publisher, u.Surface, now)
	daily = min(daily, 1<<40)
	return min(daily*share/certain, mostUnseen)
}

// shownShare returns the share shown of the last ads of a publisher on a surface, in millionths.
func (l *Limits) shownShare(publisher uint32, at traffic.Surface, now time.Time) money.Micros {
	k := surfaceKey(adsSold, publisher, at)
	of, s := l.spans[adsSold], l.tallyShard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	sold := s.peek(k, of, now)
	impressions := s.peek(surfaceKey(adsShown, publisher, at), of, now)
	if sold == nil || impressions == nil {
		return 0
	}
	var ads, seen int64
	for b := sold.newest; b > sold.newest-bucket(of.slots) && ads < judgedAds; b-- {
		of, among := int64(max(0, sold.total[sold.at(b)])), int64(0)
		if at, ok := impressions.counts(b); ok {
			among = int64(max(0, impressions.total[at]))
		}
		of = max(of, among) // ads that this node did not sell, or before it started
		if of == 0 {
			continue
		}
		part := min(of, judgedAds-ads)
		last := among * part / of
		if of <= judgedAds*3/2 { // few enough to take the unshown ones for the last ones
			last = max(0, part-(of-among))
		}
		ads, seen = ads+part, seen+last
	}
	if ads == 0 {
		return 0
	}
	return money.Micros(seen * certain / ads)
}

// holdNew counts an ad of a publisher that has sold few ads within the hour, if all such publishers
// together hold no more than their part of the campaign's day.
func (l *Limits) holdNew(k key, u *traffic.Unseen, daily money.Micros, now time.Time) bool {
	if l.soldBy(u.Publisher, now) >= newAds {
		return false
	}
	if !l.holdUpTo(newKey(u), u, min(daily/newShare, mostUnseen), now) {
		return false
	}
	u.New = true
	l.tallyAt(k, int32(u.Amount), soldAt(u), now)
	return true
}

// soldBy returns the number of ads that a publisher was sold within the hour.
func (l *Limits) soldBy(publisher uint32, now time.Time) (ads int64) {
	k := surfaceKey(adsSold, publisher, 0)
	s := l.tallyShard(k) // of all surfaces
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range traffic.Surfaces {
		if t := s.peek(surfaceKey(adsSold, publisher, at), l.spans[adsSold], now); t != nil {
			ads += t.sum()
		}
	}
	return ads
}

// unhold removes what [Limits.holdPublisher] counted.
func (l *Limits) unhold(u *traffic.Unseen, now time.Time) {
	sold, amount := soldAt(u), -int32(min(u.Amount, mostUnseen))
	l.tallyAt(heldKey(u), amount, sold, now)
	l.tallyAt(surfaceKey(adsSold, u.Publisher, u.Surface), -1, sold, now)
	if u.New {
		l.tallyAt(newKey(u), amount, sold, now)
	}
}

// holdPage counts an ad against its browser key or network.
func (l *Limits) holdPage(k key, u *traffic.Unseen, most money.Micros, now time.Time) bool {
	of, s := l.spans[k[0]], l.tallyShard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally(k, of, now)
	if held := money.Micros(t.sum()); held > 0 && held+u.Amount > most {
		l.stopped[k[0]].Inc()
		return false
	}
	s.addTo(t, k, of.bucket(soldAt(u)), int32(u.Amount))
	return true
}

// unholdPage removes what [Limits.holdPage] counted for both.
func (l *Limits) unholdPage(u *traffic.Unseen, now time.Time) {
	if !u.Page {
		return
	}
	byKey, byNetwork := pageKeys(u)
	sold, amount := soldAt(u), -int32(min(u.Amount, mostUnseen))
	l.tallyAt(byKey, amount, sold, now)
	l.tallyAt(byNetwork, amount, sold, now)
}

// soldAt returns the time of an ad's auction.
func soldAt(u *traffic.Unseen) time.Time {
	at, _ := day.TimeOfUUID(u.Ad)
	return at
}

// heldKey returns the key of what a publisher holds of a campaign. What its bids hold ends sooner,
// so it counts apart.
func heldKey(u *traffic.Unseen) key {
	if u.Surface == traffic.Bids {
		return campaignKey(heldBids, u.Campaign, u.Publisher)
	}
	return campaignKey(heldAds, u.Campaign, u.Publisher)
}

// newKey returns the key of what new publishers hold of a campaign.
func newKey(u *traffic.Unseen) key { return campaignKey(heldNew, u.Campaign, 0) }

// pageKeys returns the keys of an ad's browser key and network.
func pageKeys(u *traffic.Unseen) (byKey, byNetwork key) {
	return campaignKey(unseenKey, u.Campaign, u.Key), campaignKey(unseenNetwork, u.Campaign, u.Network)
}

func campaignKey(class byte, campaign uuid.UUID, mark uint32) key {
	k := key(campaign)
	// Campaign ids are random at their end; the first bytes are a timestamp.
	binary.BigEndian.PutUint32(k[1:], binary.BigEndian.Uint32(k[1:])^mark)
	k[0] = class
	return k
}

// surfaceKey returns the key of a publisher's ads on a surface. All of a publisher are in one
// shard.
func surfaceKey(class byte, publisher uint32, at traffic.Surface) (k key) {
	k[0], k[1] = class, byte(at)
	binary.BigEndian.PutUint32(k[len(k)-4:], publisher)
	return k
}
