package token

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSealHoldsOneRecord(t *testing.T) {
	old, now := testKey(t, "old"), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, err := NewSeal([]Key{old})
	require.NoError(t, err)
	seal := string(before.Append(nil, []byte("record")))
	require.NoError(t, before.Check("record", seal, now))
	for i := range len(seal) {
		changed := []byte(seal)
		changed[i] ^= 4
		require.Error(t, before.Check("record", string(changed), now), string(changed))
	}
	require.ErrorIs(t, before.Check("recorD", seal, now), ErrSignature)
	require.ErrorIs(t, before.Check("record", "old", now), ErrMalformed)
	require.ErrorIs(t, before.Check("record", "old.!", now), ErrMalformed)
	require.ErrorIs(t, before.Check("record", "other.AAAA", now), ErrUnknownKey)

	old.NotAfter = now
	after, err := NewSeal([]Key{testKey(t, "new"), old})
	require.NoError(t, err)
	require.NoError(t, after.Check("record", seal, now), "until its end a key that was replaced still counts")
	require.ErrorIs(t, after.Check("record", seal, now.Add(time.Second)), ErrKeyExpired)
	require.Contains(t, string(after.Append(nil, []byte("record"))), "new.")
	_, err = NewSeal(nil)
	require.Error(t, err)
}

func testKey(t *testing.T, id string) Key {
	t.Helper()
	key, err := NewKey(id)
	require.NoError(t, err)
	return key
}

func BenchmarkSealCheck(b *testing.B) {
	key, err := NewKey("k")
	require.NoError(b, err)
	seal, err := NewSeal([]Key{key})
	require.NoError(b, err)
	record := string(make([]byte, 1200)) // a campaign
	created := string(seal.Append(nil, []byte(record)))
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if seal.Check(record, created, now) != nil {
			b.Fatal("does not hold")
		}
	}
}
