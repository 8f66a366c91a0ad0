package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

var sessionCases = []testCase{
	{"KeptListedAndEnded", func(t *testing.T, s Stores) {
		store, u, other := s.Logins, AddUser(t, s), AddUser(t, s)
		first, second := addSession(t, store, u, 0), addSession(t, store, u, time.Minute)
		got, err := store.Session(t.Context(), first.ID)
		require.NoError(t, err)
		require.Equal(t, first, got)
		require.Equal(t, []uuid.UUID{second.ID, first.ID}, sessionsOf(t, store, u))
		require.Empty(t, sessionsOf(t, store, other))

		requireCode(t, store.EndSession(t.Context(), other.ID, first.ID), errs.NotFound)
		require.Len(t, sessionsOf(t, store, u), 2, "another's is not ended")
		require.NoError(t, store.EndSession(t.Context(), u.ID, first.ID))
		requireCode(t, store.EndSession(t.Context(), u.ID, first.ID), errs.NotFound)
		_, err = store.Session(t.Context(), first.ID)
		requireCode(t, err, errs.NotFound)
		require.Equal(t, []uuid.UUID{second.ID}, sessionsOf(t, store, u))
		requireCode(
			t,
			store.CreateSession(
				t.Context(),
				account.Session{ID: newID(t), UserID: newID(t), CreatedAt: keyTime, ExpiresAt: keyTime.Add(time.Hour)},
			), errs.NotFound,
		)
	}},
	{"RenewingEndsAllButOne", func(t *testing.T, s Stores) {
		store, u, other := s.Logins, AddUser(t, s), AddUser(t, s)
		created, gone, others := addSession(t, store, u, 0), addSession(t, store, u, time.Minute),
			addSession(t, store, other, 0)
		now, ended, err := store.RenewLogins(t.Context(), u.ID, created.ID, func(e *account.User) error {
			e.PasswordHash = "$argon2id$new"
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, ended)
		require.Equal(t, u.TokenVersion+1, now.TokenVersion)
		require.Equal(t, "$argon2id$new", now.PasswordHash)
		_, err = store.Session(t.Context(), gone.ID)
		requireCode(t, err, errs.NotFound)
		got, err := store.Session(t.Context(), created.ID)
		require.NoError(t, err)
		require.Equal(t, now.TokenVersion, got.Version)
		entries, err := s.Audit.AuditLog(t.Context(), auditlog.Query{OwnerID: u.ID, Limit: 10})
		require.NoError(t, err)
		require.Contains(t, entries[0].Changes, "other_sessions")
		require.Contains(t, entries[1].Changes, "password")

		// Another account's session is neither ended nor kept.
		_, ended, err = store.RenewLogins(t.Context(), u.ID, others.ID, func(*account.User) error { return nil })
		require.NoError(t, err)
		require.Equal(t, 1, ended)
		require.Empty(t, sessionsOf(t, store, u))
		require.Len(t, sessionsOf(t, store, other), 1)

		_, _, err = store.RenewLogins(t.Context(), other.ID, uuid.Nil, func(*account.User) error { return errEdit })
		require.ErrorIs(t, err, errEdit)
		require.Len(t, sessionsOf(t, store, other), 1, "what was refused ends nothing")
	}},
	{"AHigherVersionEndsSessions", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		before := addSession(t, store, u, 0)
		now, err := s.Users.UpdateUser(t.Context(), u.ID, account.Renewing(func(*account.User) error { return nil }))
		require.NoError(t, err)
		_, err = store.Session(t.Context(), before.ID)
		requireCode(t, err, errs.NotFound)
		require.Empty(t, sessionsOf(t, store, u))
		requireCode(t, store.EndSession(t.Context(), u.ID, before.ID), errs.NotFound)
		// It does not come back: neither by a renewal nor as a login in progress.
		_, _, err = store.RenewLogins(t.Context(), u.ID, before.ID, func(*account.User) error { return nil })
		require.NoError(t, err)
		late := addSession(t, store, now, time.Minute)
		_, err = store.Session(t.Context(), late.ID)
		requireCode(t, err, errs.NotFound)
		require.Empty(t, sessionsOf(t, store, u))
	}},
	{"ExpiredOnesAreRetired", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		addSession(t, store, u, 0)
		working := addSession(t, store, u, time.Hour)
		_, err := s.Retention.Retain(t.Context(), ledger.Cutoffs{Keys: keyTime.Add(24*time.Hour + time.Minute)}, false)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{working.ID}, sessionsOf(t, store, u))
	}},
	{"SecondFactor", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		got, err := store.Factor(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, account.Factor{}, got)
		want := account.Factor{
			Sealed: []byte("k1:x"), ConfirmedAt: keyTime, LastStep: 1 << 40, Recovery: [][32]byte{{1}, {2}},
			Known: account.Misses{Failures: 2}, Unknown: account.Misses{Failures: 3, FailedAt: keyTime},
		}
		for range 2 {
			require.NoError(
				t, store.UpdateFactor(t.Context(), u.ID, func(f *account.Factor) error { *f = want; return nil }),
			)
			got, err = store.Factor(t.Context(), u.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		require.ErrorIs(
			t,
			store.UpdateFactor(
				t.Context(), u.ID,
				func(f *account.Factor) error { f.LastStep, f.Recovery[0] = 1, [32]byte{9}; return errEdit },
			), errEdit,
		)
		got, err = store.Factor(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
		var taken atomic.Int32
		together(8, func(int) { // of concurrent uses of one code, one succeeds
			_ = store.UpdateFactor(t.Context(), u.ID, func(f *account.Factor) error {
				if f.LastStep < 1<<41 {
					f.LastStep = 1 << 41
					taken.Add(1)
				}
				return nil
			})
		})
		require.EqualValues(t, 1, taken.Load())
		require.NoError(
			t,
			store.UpdateFactor(t.Context(), u.ID, func(f *account.Factor) error { *f = account.Factor{}; return nil }),
		)
		got, err = store.Factor(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, account.Factor{}, got)
		requireCode(
			t, store.UpdateFactor(t.Context(), newID(t), func(*account.Factor) error { return nil }), errs.NotFound,
		)

		sessions := s.Logins
		weak, other := addSession(t, sessions, u, 0), AddUser(t, s)
		weak.ID, weak.Strong = newID(t), false
		require.NoError(t, sessions.CreateSession(t.Context(), weak))
		require.NoError(t, store.StrengthenSession(t.Context(), other.ID, weak.ID))
		found, err := sessions.Session(t.Context(), weak.ID)
		require.NoError(t, err)
		require.False(t, found.Strong, "it is another's")
		require.NoError(t, store.StrengthenSession(t.Context(), u.ID, weak.ID))
		found, err = sessions.Session(t.Context(), weak.ID)
		require.NoError(t, err)
		require.True(t, found.Strong)
	}},
	{"MailedLinks", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		l := account.Link{
			Hash: [32]byte{1}, Purpose: account.LinkReset, Email: u.Email, UserID: u.ID, CreatedAt: keyTime,
			ExpiresAt: keyTime.Add(time.Hour), Network: "192.0.2.0/24", Side: account.Advertise,
		}
		require.NoError(t, store.CreateLink(t.Context(), l))
		got, err := store.Link(t.Context(), l.Hash, keyTime)
		require.NoError(t, err)
		require.Equal(t, l, got)
		_, err = store.Link(t.Context(), l.Hash, l.ExpiresAt)
		requireCode(t, err, errs.NotFound)
		var taken atomic.Int32
		together(8, func(int) {
			if _, err := store.TakeLink(t.Context(), l.Hash, keyTime); err == nil {
				taken.Add(1)
			}
		})
		require.EqualValues(t, 1, taken.Load(), "a link works once")
	}},
	{"OldMailedLinksEnd", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		create := func(n int, purpose account.LinkPurpose, network string) [32]byte {
			at := keyTime.Add(time.Duration(n) * time.Second)
			l := account.Link{
				Hash: [32]byte{byte(n), byte(n >> 8), purpose[2]}, Purpose: purpose, Email: u.Email, CreatedAt: at,
				ExpiresAt: at.Add(time.Hour), Network: network,
			}
			switch purpose {
			case account.LinkReset:
				l.UserID = u.ID
			case account.LinkRegister:
				l.PasswordHash = "$argon2id$x"
			}
			require.NoError(t, store.CreateLink(t.Context(), l))
			return l.Hash
		}
		open := func(hash [32]byte, at time.Time) bool {
			_, err := store.Link(t.Context(), hash, at)
			if err != nil {
				requireCode(t, err, errs.NotFound)
			}
			return err == nil
		}
		owner := create(0, account.LinkReset, "192.0.2.0/24")
		var strangers [][32]byte
		for n := range 10 {
			strangers = append(strangers, create(1+n, account.LinkReset, "198.51.100.0/24"))
			create(1+n, account.LinkNotice, "198.51.100.0/24")
			create(1+n, account.LinkRegister, "198.51.100.0/24")
		}
		require.True(t, open(owner, keyTime), "strangers end no link of another network")
		for n, hash := range strangers {
			require.Equal(t, n >= 10-account.NetworkLinks, open(hash, keyTime), n)
		}
		for n := range account.MaxLinks {
			create(20+n, account.LinkReset, fmt.Sprintf("203.0.%d.0/24", n))
		}
		require.False(t, open(owner, keyTime), "the rows are bounded")
		require.True(t, open([32]byte{20, 0, account.LinkReset[2]}, keyTime), "the newest stay")
		last := keyTime.Add(59 * time.Minute)
		require.True(t, open([32]byte{10, 0, account.LinkRegister[2]}, last), "links of another purpose")
		create(3700, account.LinkNotice, "192.0.2.0/24")
		require.False(t, open([32]byte{10, 0, account.LinkRegister[2]}, keyTime), "expired ones are deleted")
		var failed atomic.Int32
		together(8, func(i int) {
			l := account.Link{
				Hash: [32]byte{9, byte(i), 9}, Purpose: account.LinkReset, Email: u.Email, UserID: u.ID, CreatedAt: keyTime,
				ExpiresAt: keyTime.Add(time.Hour), Network: "192.0.2.0/24",
			}
			if store.CreateLink(t.Context(), l) != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
	}},
	{"OnlySoMany", func(t *testing.T, s Stores) {
		store, u := s.Logins, AddUser(t, s)
		oldest := addSession(t, store, u, 0)
		for i := range account.MaxSessions {
			addSession(t, store, u, time.Duration(i+1)*time.Second)
		}
		require.Len(t, sessionsOf(t, store, u), account.MaxSessions)
		_, err := store.Session(t.Context(), oldest.ID)
		requireCode(t, err, errs.NotFound)
		addSession(t, store, u, 48*time.Hour)
		require.Len(t, sessionsOf(t, store, u), 1, "expired ones are forgotten")
	}},
}

// addSession stores a session of u that begins after the given time and lasts a day.
func addSession(t *testing.T, store account.SessionStore, u account.User, after time.Duration) account.Session {
	t.Helper()
	n := account.Session{
		ID: newID(t), UserID: u.ID, Version: u.TokenVersion, CreatedAt: keyTime.Add(after),
		ExpiresAt: keyTime.Add(after + 24*time.Hour),
		Network:   "192.0.2.0/24", Agent: "Übersicht/1.0", Strong: true,
	}
	require.NoError(t, store.CreateSession(t.Context(), n))
	return n
}

func sessionsOf(t *testing.T, store account.SessionStore, u account.User) (ids []uuid.UUID) {
	t.Helper()
	all, err := store.Sessions(t.Context(), u.ID)
	require.NoError(t, err)
	for _, n := range all {
		ids = append(ids, n.ID)
	}
	return ids
}
