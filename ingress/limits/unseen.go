package limits

import (
	"encoding/binary"
	"time"

	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Anyone can read a browser key and request ads without showing them, and each ad holds budget
// until its reservation ends. So the unseen ads of one key, and of one network, may hold only a
// bounded amount of a campaign. They count for an hour, the longest life of a reservation.

// mostUnseen bounds the amount counted per key, so that the count of a minute fits its meter.
const mostUnseen = 1000 * money.USD

// Hold counts an ad at now. If its key or its network would hold more than most of the campaign, it
// counts nothing and returns false. A single ad is always accepted, whatever it costs.
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

// Seen removes an ad from the count. The caller must call it once per ad.
func (l *Limits) Seen(u traffic.Unseen, now time.Time) {
	byKey, byNetwork := unseenKeys(&u)
	l.unhold(unseenKey, byKey, u, now)
	l.unhold(unseenNetwork, byNetwork, u, now)
}

// unseenKeys returns the meters of an ad.
func unseenKeys(u *traffic.Unseen) (byKey, byNetwork key) {
	byKey, byNetwork = key(u.Campaign), key(u.Campaign)
	// Campaign ids are random at their end; the first bytes are a timestamp.
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

// unhold removes the ad from the minute of its sale, where it was counted. A later bucket would
// keep the negative count after that minute has expired, and allow more than the limit.
func (l *Limits) unhold(id byte, k key, u traffic.Unseen, now time.Time) {
	c := &l.classes[id]
	s := l.shards[k[len(k)-1]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(k, c, c.bucket(now))
	m.add(min(c.bucket(u.Sold), m.newest), -int32(min(u.Amount, mostUnseen)))
	s.dirty[k] = struct{}{}
}
