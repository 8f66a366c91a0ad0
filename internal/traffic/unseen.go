package traffic

import (
	"encoding/binary"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// Unseen is the part of a campaign's budget that an ad holds until it is shown.
type Unseen struct {
	Ad        uuid.UUID // the auction's id, which has the time of the sale
	Campaign  uuid.UUID
	Publisher uint32 // see [PublisherMark]
	Surface   Surface
	Amount    money.Micros

	Page         bool   // of a browser key; then the two marks are set
	Key, Network uint32 // marks: see internal/token, Asker

	// New is set by limits.Limits.Hold: the ad passed only because its publisher is new.
	New bool
}

// PublisherMark returns 32 bits that stand for a publisher's family, by the developer id of its
// oldest account.
func PublisherMark(developer uuid.UUID) uint32 { return binary.BigEndian.Uint32(developer[12:]) }

// Surface is where a publisher shows ads, out of a closed list. Each has its own share of ads that
// are shown.
type Surface byte

// Surfaces is the number of surfaces: the known placements of servers, the same of pages, whose
// keys strangers can use, and the bids of an exchange.
const Surfaces Surface = 2*Surface(len(placements)+1) + 1

// Bids is the surface of the bids of an exchange.
const Bids = Surfaces - 1

var placements = [...]string{"chat", "tool_result", "welcome", "buttons"}

// SurfaceOf returns the surface of an ad by its placement, its integration method, and whether its
// key is a browser key.
func SurfaceOf(placement, method string, browser bool) Surface {
	if method == MethodRTB {
		return Bids
	}
	at := len(placements)
	for i, known := range placements {
		if placement == known {
			at = i
			break
		}
	}
	if browser {
		at += len(placements) + 1
	}
	return Surface(at)
}
