package limits

import (
	"encoding/binary"
	"time"

	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Anybody can read a browser key and ask for ads without showing them; each holds budget until its
// reservation ends. So what one key, and what one network, holds of a campaign without having shown
// it is bounded. It is counted for an hour, which is the longest that a reservation lasts.

// mostUnseen bounds what is counted of a key, so that a count of a minute fits its meter.
const mostUnseen = 1000 * money.USD

// Hold counts an ad at now, unless its key or its network would hold more than most of the
// campaign: then it counts nothing and is false. One ad may be held whatever it costs.
func (l *Limits) Hold(u traffic.Unseen, most money.Micros, now time.Time) bool {
	byKey, byNetwork := unseenKeys(&u)
	most = min(most, mostUnseen)
	if !l.hold(unseenKey, byKey, u, most, now) {
		return false
	}
	if !l.hold(unseenNetwork, byNetwork, u, most, now) {
		l.unhold(unseenKey, byKey, u, now)
		return false
	}
	return true
}

// Seen takes an ad out of the count. The caller sees to it that each does so once.
func (l *Limits) Seen(u traffic.Unseen, now time.Time) {
	byKey, byNetwork := unseenKeys(&u)
	l.unhold(unseenKey, byKey, u, now)
	l.unhold(unseenNetwork, byNetwork, u, now)
}

// unseenKeys are the meters of an ad.
func unseenKeys(u *traffic.Unseen) (byKey, byNetwork key) {
	byKey, byNetwork = key(u.Campaign), key(u.Campaign)
	// Ids of campaigns are random at their end; the first bytes are their time.
	binary.BigEndian.PutUint32(byKey[1:], binary.BigEndian.Uint32(byKey[1:])^u.Key)
	binary.BigEndian.PutUint32(byNetwork[1:], binary.BigEndian.Uint32(byNetwork[1:])^u.Network)
	byKey[0], byNetwork[0] = unseenKey, unseenNetwork
	return byKey, byNetwork
}

func (l *Limits) hold(id byte, k key, u traffic.Unseen, most money.Micros, now time.Time) bool {
	c := &l.classes[id]
	s := l.shards[k[len(k)-1]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(k, c, c.bucket(now))
	if held := money.Micros(m.sum); u.Amount > mostUnseen || held > 0 && held+u.Amount > most {
		l.stopped[id].Inc()
		return false
	}
	m.add(min(c.bucket(u.Sold), m.newest), int32(u.Amount))
	s.dirty[k] = struct{}{}
	return true
}

// unhold takes the ad out where it was counted: in the minute in which it was sold. Later it would
// still be missing when the minute no longer counts, and let through more than may be held.
func (l *Limits) unhold(id byte, k key, u traffic.Unseen, now time.Time) {
	c := &l.classes[id]
	s := l.shards[k[len(k)-1]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(k, c, c.bucket(now))
	m.add(min(c.bucket(u.Sold), m.newest), -int32(min(u.Amount, mostUnseen)))
	s.dirty[k] = struct{}{}
}
