package token

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/day"
)

const someDay day.Day = 20_000

func TestSessionsAreOfADayAndAPublisher(t *testing.T) {
	r, first, other := defaultRing(t), uuid.New(), uuid.New()
	known := r.Session(first, someDay, "conversation-1")
	require.NotContains(t, known.String(), "conversation-1")
	require.Equal(t, known, r.Session(first, someDay, "conversation-1"))
	for name, p := range map[string]Pseudonym{
		"another day":       r.Session(first, someDay+1, "conversation-1"),
		"another publisher": r.Session(other, someDay, "conversation-1"),
		"another session":   r.Session(first, someDay, "conversation-2"),
		"another use":       r.Lasting(first, someDay, "conversation-1"),
		"another key":       ring(t, "k1:"+encoded(2)).Session(first, someDay, "conversation-1"),
	} {
		require.NotEqual(t, known, p, name)
	}
	require.Zero(t, r.Session(first, someDay, ""))
	require.Empty(t, Pseudonym{}.String())
	for d := range day.Day(9) { // more days than are remembered, back and forth
		require.Equal(t, r.Session(first, someDay-d, "a"), defaultRing(t).Session(first, someDay-d, "a"))
	}
}

// What a link says of a session leads back to its pseudonym, and shows neither it nor the id.
func TestSessionsInLinks(t *testing.T) {
	r, developer := defaultRing(t), uuid.New()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringN(1, -1, 128).Draw(t, "id")
		p := r.Session(developer, someDay, id)
		link := string(r.AppendSession(nil, someDay, p))
		require.Len(t, link, linkSize)
		require.NotContains(t, link, p.String())
		require.Equal(t, p, r.SessionSaid(developer, someDay, link))
		if !strings.HasPrefix(id, linkMark) {
			require.Equal(t, p, r.SessionSaid(developer, someDay, id), "a publisher's server reports the id itself")
		}
		// An id in the form of a link is never kept as it came.
		raw := rapid.StringMatching(`s\.[A-Za-z0-9_-]{22}`).Draw(t, "raw")
		require.NotContains(t, raw, r.SessionSaid(developer, someDay, raw).String())
	})
	require.Empty(t, r.AppendSession(nil, someDay, Pseudonym{}))
}

// All nodes use one key for a day, whether they have the new list or the old one.
func TestPseudonymsOfADayHaveOneKey(t *testing.T) {
	end := someDay.Time().Add(14 * time.Hour)
	before, during, after := ring(t, "k1:"+encoded(1)), ring(t, "k1:"+encoded(1)+",k2:"+encoded(2)), ring(
		t, "k2:"+encoded(2)+",k1:"+encoded(1)+"@"+end.Format(time.RFC3339),
	)
	fresh, developer := ring(t, "k2:"+encoded(2)), uuid.New()
	for _, of := range []func(*Keyring, day.Day) Pseudonym{
		func(r *Keyring, d day.Day) Pseudonym { return r.Session(developer, d, "s") },
		func(r *Keyring, d day.Day) Pseudonym { return r.Lasting(developer, d, "order") },
		func(r *Keyring, d day.Day) Pseudonym { return Pseudonym(r.Synthetic(d, developer, developer, "s", "")) },
	} {
		require.Equal(t, of(before, someDay-1), of(during, someDay-1), "the new key only verifies yet")
		require.Equal(t, of(before, someDay-1), of(after, someDay-1), "until the old key's last whole day")
		require.Equal(t, of(fresh, someDay), of(after, someDay), "and from the day on which it ends")
		require.NotEqual(t, of(before, someDay), of(after, someDay))
	}
}

// The mark of a refusal belongs to a publisher, one of its keys and two days, and has no other use.
func TestRefusalsHaveAKeyOfTheirOwn(t *testing.T) {
	r, publisher, key := defaultRing(t), uuid.New(), uuid.New()
	period := RefusalPeriod(someDay)
	require.Equal(t, period, RefusalPeriod(someDay+1))
	require.Equal(t, period+1, RefusalPeriod(someDay+2))
	known := r.Refusal(publisher, key, period, "conversation-1")
	require.Equal(t, known, defaultRing(t).Refusal(publisher, key, period, "conversation-1"))
	for name, p := range map[string]Pseudonym{
		"another publisher":    r.Refusal(uuid.New(), key, period, "conversation-1"),
		"another key":          r.Refusal(publisher, uuid.New(), period, "conversation-1"),
		"another session":      r.Refusal(publisher, key, period, "conversation-2"),
		"another period":       r.Refusal(publisher, key, period+1, "conversation-1"),
		"a session":            r.Session(publisher, someDay, string(key[:])+"conversation-1"),
		"lasting":              r.Lasting(publisher, someDay, string(key[:])+"conversation-1"),
		"another installation": ring(t, "k1:"+encoded(2)).Refusal(publisher, key, period, "conversation-1"),
	} {
		require.NotEqual(t, known, p, name)
	}
	require.Zero(t, r.Refusal(publisher, key, period, ""))

	// In a rotation, nodes with the old list and with the new one make the same marks, until the
	// last mark of the period has ended.
	old, rotated := ring(t, "k1:"+encoded(1)), func(end time.Time) *Keyring {
		return ring(t, "k2:"+encoded(2)+",k1:"+encoded(1)+"@"+end.Format(time.RFC3339))
	}
	lasts := ((period+1)*2 + 1).Time()
	require.Equal(t, old.Refusal(publisher, key, period, "a"), rotated(lasts).Refusal(publisher, key, period, "a"))
	require.NotEqual(
		t, old.Refusal(publisher, key, period, "a"),
		rotated(lasts.Add(-time.Second)).Refusal(publisher, key, period, "a"),
	)
}

// The mark of a network belongs to a use, a campaign and a day. Without the key, nobody can try all
// networks.
func TestNetworksAreKeyedByTheDay(t *testing.T) {
	r, campaign, network := defaultRing(t), uuid.New(), "203.0.113.0/24"
	known := r.Network(NetworkOfAd, campaign, someDay, network)
	require.NotZero(t, known)
	require.Equal(t, known, defaultRing(t).Network(NetworkOfAd, campaign, someDay, network))
	for name, p := range map[string]Pseudonym{
		"another use":          r.Network(NetworkOfClick, campaign, someDay, network),
		"another campaign":     r.Network(NetworkOfAd, uuid.New(), someDay, network),
		"another day":          r.Network(NetworkOfAd, campaign, someDay+1, network),
		"another network":      r.Network(NetworkOfAd, campaign, someDay, "203.0.114.0/24"),
		"another installation": ring(t, "k1:"+encoded(2)).Network(NetworkOfAd, campaign, someDay, network),
		"a session":            r.Session(campaign, someDay, string(NetworkOfAd)+"\x00"+network),
		"lasting":              r.Lasting(campaign, someDay, string(NetworkOfAd)+"\x00"+network),
	} {
		require.NotEqual(t, known, p, name)
	}
}

func TestLastingIDsAreKnownOnOtherDays(t *testing.T) {
	r, advertiser := defaultRing(t), uuid.New()
	require.Equal(t, r.Lasting(advertiser, someDay, "order-1"), r.Lasting(advertiser, someDay+400, "order-1"))
	require.NotEqual(t, r.Lasting(advertiser, someDay, "order-1"), r.Lasting(uuid.New(), someDay, "order-1"))
	require.Zero(t, r.Lasting(advertiser, someDay, ""))
	id := r.Synthetic(someDay, advertiser, advertiser, "s", "")
	require.EqualValues(t, 8, id.Version())
	require.Equal(t, id, r.Synthetic(someDay+1, advertiser, advertiser, "s", ""), "a repeat tomorrow is one")
	require.NotEqual(t, id, r.Synthetic(someDay, advertiser, advertiser, "s", "sandbox"))
	require.NotEqual(t, id, r.Synthetic(someDay, advertiser, advertiser, "t", ""))
}

func TestPseudonymsAllocateNothing(t *testing.T) {
	r, developer, room := defaultRing(t), uuid.New(), make([]byte, 0, 64)
	r.Session(developer, someDay, "s")
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		room = r.AppendSession(room[:0], someDay, r.Session(developer, someDay, "conversation-1"))
	}), 0.0)
}

func BenchmarkSession(b *testing.B) {
	r, developer := defaultRing(b), uuid.New()
	for b.Loop() {
		r.Session(developer, someDay, "0123456789abcdef0123456789abcdef")
	}
}
