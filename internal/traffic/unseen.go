package traffic

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// Unseen is the reservation of a browser key's ad in its campaign's budget until it is seen.
type Unseen struct {
	Campaign     uuid.UUID
	Key, Network uint32 // marks: see token.Asker
	Sold         time.Time
	Amount       money.Micros
}
