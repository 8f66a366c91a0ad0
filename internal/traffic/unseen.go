package traffic

import (
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// Unseen is what an ad that was sold to a browser key holds of its campaign until it was seen.
type Unseen struct {
	Campaign     uuid.UUID
	Key, Network uint32 // marks: see token.Asker
	Sold         time.Time
	Amount       money.Micros
}
