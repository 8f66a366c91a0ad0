package offer

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"time"

	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/day"
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

// mark returns 32 bits of a hash of the network, a campaign and the UTC day. It tells networks
// apart for a campaign and day, but cannot be compared across campaigns or days.
func (b *Browser) mark(campaign uuid.UUID, at time.Time) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(campaign[:])
	_, _ = io.WriteString(h, day.Of(at).String())
	_, _ = io.WriteString(h, b.Network)
	return h.Sum32()
}
