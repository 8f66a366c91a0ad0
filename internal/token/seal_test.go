package token

import (
	"slices"
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

// A record of the log is of its topic and its installation, as a whole.
func TestSealedRecordsOfTheLog(t *testing.T) {
	now, ring := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), defaultRing(t)
	for _, record := range []string{"", "record"} {
		closed := ring.Outcomes().Close([]byte("key"+record), 3)[3:]
		got, err := ring.Outcomes().Open(closed, now)
		require.NoError(t, err)
		require.Equal(t, record, string(got))
		for i := range closed {
			changed := slices.Clone(closed)
			changed[i] ^= 1
			_, err := ring.Outcomes().Open(changed, now)
			require.Error(t, err, i)
			_, err = ring.Outcomes().Open(closed[:i], now)
			require.Error(t, err, i)
		}
		_, err = ring.Notices().Open(closed, now)
		require.ErrorIs(t, err, ErrSignature, "a record of another topic")
		_, err = ring.Outcomes().Open(append([]byte("x"), closed...), now)
		require.ErrorIs(t, err, ErrSignature)
		_, err = ringOf(t, 2).Outcomes().Open(closed, now)
		require.ErrorIs(t, err, ErrSignature, "another installation")
	}
	room := make([]byte, 6, 100)
	require.Zero(t, testing.AllocsPerRun(100, func() { ring.Outcomes().Close(room, 0) }))
}

func ringOf(t *testing.T, secret byte) *Keyring { return ring(t, "k1:"+encoded(secret)) }

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
