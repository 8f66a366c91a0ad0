package storetest

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
)

var keyTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

var keyCases = []testCase{
	{"FoundByHash", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		a, b := addKey(t, s, u, 1), addKey(t, s, u, 2)
		for _, want := range []account.Key{a, b} {
			got, disabled, err := s.Keys.KeyByHash(t.Context(), want.Hash)
			require.NoError(t, err)
			require.False(t, disabled)
			require.Equal(t, want, got)
		}
		_, _, err := s.Keys.KeyByHash(t.Context(), sha256.Sum256([]byte("unknown")))
		requireCode(t, err, errs.NotFound)
	}},
	{"RevokedIsFoundAndSaysSo", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		k := addKey(t, s, u, 1)
		first, second := keyTime.Add(time.Hour), keyTime.Add(2*time.Hour)
		require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, k.ID, first))
		require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, k.ID, second), "idempotent")
		got, disabled, err := s.Keys.KeyByHash(t.Context(), k.Hash)
		require.NoError(t, err)
		require.False(t, disabled)
		require.True(t, got.Revoked())
		require.Equal(t, first, got.RevokedAt, "the first revocation stays")
	}},
	{"OnlyTheOwnerRevokes", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		k := addKey(t, s, u, 1)
		requireCode(t, s.Keys.RevokeKey(t.Context(), other.ID, k.ID, keyTime), errs.NotFound)
		requireCode(t, s.Keys.RevokeKey(t.Context(), u.ID, newID(t), keyTime), errs.NotFound)
		got, _, err := s.Keys.KeyByHash(t.Context(), k.Hash)
		require.NoError(t, err)
		require.False(t, got.Revoked())
	}},
	{"DisabledOwnerShows", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		k := addKey(t, s, u, 1)
		_, err := s.Users.UpdateUser(t.Context(), u.ID, func(e *account.User) error {
			e.Disabled = true
			return nil
		})
		require.NoError(t, err)
		_, disabled, err := s.Keys.KeyByHash(t.Context(), k.Hash)
		require.NoError(t, err)
		require.True(t, disabled)
	}},
	{"ListIsTheOwnersNewestFirst", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		a, b, c := addKey(t, s, u, 1), addKey(t, s, u, 3), addKey(t, s, u, 2)
		addKey(t, s, other, 4)
		require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, b.ID, keyTime))
		b.RevokedAt = keyTime
		got, err := s.Keys.Keys(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, []account.Key{b, c, a}, got)
		got, err = s.Keys.Keys(t.Context(), newID(t))
		require.NoError(t, err)
		require.Empty(t, got)
	}},
	{"BrowserKeysAreFoundByOrigin", browserKeys},
	{"RotatedOnceAndWhole", rotatedKeys},
	{"OwnerMustExist", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		k := addKey(t, s, u, 1)
		k.ID, k.Hash, k.OwnerID = newID(t), sha256.Sum256([]byte("x")), newID(t)
		requireCode(t, s.Keys.CreateKey(t.Context(), k), errs.NotFound)
	}},
	{"HashIsUnique", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		k := addKey(t, s, u, 1)
		k.ID = newID(t)
		requireCode(t, s.Keys.CreateKey(t.Context(), k), errs.Conflict)
	}},
}

// addKey gives u a key that was created n minutes after keyTime.
func addKey(t *testing.T, s Stores, u account.User, n int) account.Key {
	t.Helper()
	kind := account.KindPublisher
	if n%2 == 0 {
		kind = account.KindSeat
	}
	k := account.Key{
		ID: newID(t), OwnerID: u.ID, DeveloperID: u.DeveloperID, Kind: kind, Name: fmt.Sprintf("key %d", n),
		Prefix: "pub_live_ab", Hash: sha256.Sum256(fmt.Appendf(nil, "%s %d", u.ID, n)),
		CreatedAt: keyTime.Add(time.Duration(n) * time.Minute), Unlearned: n%2 == 0,
	}
	require.NoError(t, s.Keys.CreateKey(t.Context(), k))
	return k
}

// addPage gives u a browser key of origins.
func addPage(t *testing.T, s Stores, u account.User, origins ...string) account.Key {
	t.Helper()
	id := newID(t)
	k := account.Key{
		ID: id, OwnerID: u.ID, DeveloperID: u.DeveloperID, Kind: account.KindBrowser, Name: "page",
		Prefix: "pk_live_abcd",
		Hash:   sha256.Sum256(id[:]), CreatedAt: keyTime, Origins: origins,
		ReadByModels: len(origins) > 1,
	}
	require.NoError(t, s.Keys.CreateKey(t.Context(), k))
	return k
}

func browserKeys(t *testing.T, s Stores) {
	u, gone := AddUser(t, s), AddUser(t, s)
	exact, below := "https://"+u.ID.String()+".example", "https://*."+gone.ID.String()+".example"
	first, second := addPage(t, s, u, exact, "http://localhost:3000"), addPage(t, s, gone, below)
	got, _, err := s.Keys.KeyByHash(t.Context(), first.Hash)
	require.NoError(t, err)
	require.Equal(t, first, got)
	named := func(now time.Time, patterns ...string) bool {
		t.Helper()
		found, err := s.Keys.NamesOrigin(t.Context(), patterns, now)
		require.NoError(t, err)
		return found
	}
	require.True(t, named(keyTime, "https://other.example", exact))
	require.True(t, named(keyTime, below))
	require.False(t, named(keyTime, "https://other.example", exact+":8443"))
	require.False(t, named(keyTime))

	next := first
	next.ID = newID(t)
	next.Hash = sha256.Sum256(next.ID[:])
	ends := keyTime.Add(time.Hour)
	require.NoError(t, s.Keys.RotateKey(t.Context(), u.ID, first.ID, ends, next))
	require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, next.ID, keyTime))
	require.True(t, named(ends.Add(-time.Second), exact), "the rotated key works on")
	require.False(t, named(ends, exact))
	require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, first.ID, keyTime))
	require.False(t, named(keyTime, exact), "a revoked key names nothing")
	_, err = s.Users.UpdateUser(t.Context(), gone.ID, func(e *account.User) error { e.Disabled = true; return nil })
	require.NoError(t, err)
	require.False(t, named(keyTime, second.Origins...), "nor does that of a disabled account")
}

func rotatedKeys(t *testing.T, s Stores) {
	u, other := AddUser(t, s), AddUser(t, s)
	k, taken := addKey(t, s, u, 1), addKey(t, s, u, 3)
	next := k
	next.ID = newID(t)
	next.Hash, next.CreatedAt = sha256.Sum256(next.ID[:]), keyTime.Add(time.Hour)
	ends := keyTime.Add(25 * time.Hour)
	requireCode(t, s.Keys.RotateKey(t.Context(), other.ID, k.ID, ends, next), errs.NotFound)
	clash := next
	clash.Hash = taken.Hash
	requireCode(t, s.Keys.RotateKey(t.Context(), u.ID, k.ID, ends, clash), errs.Conflict)
	got, _, err := s.Keys.KeyByHash(t.Context(), k.Hash)
	require.NoError(t, err)
	require.Equal(t, k, got, "a rotation that fails changes nothing")

	require.NoError(t, s.Keys.RotateKey(t.Context(), u.ID, k.ID, ends, next))
	got, _, err = s.Keys.KeyByHash(t.Context(), k.Hash)
	require.NoError(t, err)
	k.EndsAt = ends
	require.Equal(t, k, got)
	require.True(t, got.Works(ends.Add(-time.Nanosecond)))
	require.False(t, got.Works(ends))
	got, _, err = s.Keys.KeyByHash(t.Context(), next.Hash)
	require.NoError(t, err)
	require.Equal(t, next, got)
	again := next
	again.ID = newID(t)
	again.Hash = sha256.Sum256(again.ID[:])
	requireCode(t, s.Keys.RotateKey(t.Context(), u.ID, k.ID, ends.Add(time.Hour), again), errs.Conflict)
	require.NoError(t, s.Keys.RevokeKey(t.Context(), u.ID, taken.ID, keyTime))
	requireCode(t, s.Keys.RotateKey(t.Context(), u.ID, taken.ID, ends, again), errs.Conflict)
}
