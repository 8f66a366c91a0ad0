// Package tokentest gives tests outside internal/token access to parts of it.
package tokentest

import (
	"time"

	"adnet/internal/token"
)

// Life is the default life of events: 1 hour, 24 hours, 30 days.
func Life() token.Life {
	return token.Life{Impression: time.Hour, Click: 24 * time.Hour, Conversion: 30 * 24 * time.Hour}
}
