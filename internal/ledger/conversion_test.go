package ledger

import (
	"crypto/sha256"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A viewer of an ad can invent external ids without end: they have few keys.
func TestUnverifiedConversionsHaveFewKeys(t *testing.T) {
	keys := map[EventType]bool{}
	for i := range 10_000 {
		external := sha256.Sum256([]byte(strconv.Itoa(i)))
		keys[UnverifiedKey("sale", external[:])] = true
	}
	require.Len(t, keys, 16)
	require.False(t, keys[ConversionKey("sale", "0")], "a verified conversion has its own key")
}
