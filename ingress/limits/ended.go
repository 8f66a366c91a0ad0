package limits

import (
	"encoding/binary"
	"sync"

	"github.com/google/uuid"
)

// ended remembers the ads of the last hour that were shown or lost, so that a repeated beacon
// releases nothing. Its memory is fixed: the oldest of the ads that share a place is forgotten. An
// ad that ended on several nodes counts on each.
type ended struct {
	locks  [64]sync.Mutex
	places []place
}

// place has the hashes of four ads, newest first.
type place [4]uint64

const endedPlaces = 1 << 16

func newEnded() *ended { return &ended{places: make([]place, endedPlaces)} }

// first records an ad and reports whether it was unknown. The random part of its id is its hash.
func (e *ended) first(ad uuid.UUID) bool {
	sum := binary.BigEndian.Uint64(ad[8:])
	at := sum % endedPlaces
	lock := &e.locks[at%uint64(len(e.locks))]
	lock.Lock()
	defer lock.Unlock()
	p := &e.places[at]
	for _, known := range p {
		if known == sum {
			return false
		}
	}
	copy(p[1:], p[:len(p)-1])
	p[0] = sum
	return true
}
