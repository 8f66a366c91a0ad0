package offer

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/day"
	"adnet/internal/token"
)

// Browser is a page that requests ads with a browser key; the zero value is a caller with another
// key.
type Browser struct {
	Asks    bool
	Key     uint32 // a short hash of the key
	Network string // the reader's network
}

func browserOf(caller httpapi.Caller) Browser {
	id := caller.KeyID
	return Browser{Asks: true, Key: binary.BigEndian.Uint32(id[len(id)-4:]), Network: caller.Network}
}

// mark returns 32 bits of the mark of the network, for a campaign and the UTC day.
func (b *Browser) mark(ring *token.Keyring, campaign uuid.UUID, at time.Time) uint32 {
	mark := ring.Network(token.NetworkOfAd, campaign, day.Of(at), b.Network)
	return binary.BigEndian.Uint32(mark[:])
}
