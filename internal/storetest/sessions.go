package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/auditlog"
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
			Failures: 3, FailedAt: keyTime,
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
			ExpiresAt: keyTime.Add(time.Hour),
		}
		created, err := store.CreateLink(t.Context(), l)
		require.NoError(t, err)
		require.True(t, created)
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
		var count atomic.Int32
		together(8, func(i int) {
			n := account.Link{
				Hash: [32]byte{2, byte(i)}, Purpose: account.LinkRegister, Email: "new@example.com",
				PasswordHash: "$argon2id$x", CreatedAt: keyTime, ExpiresAt: keyTime.Add(time.Hour),
			}
			if created, err := store.CreateLink(t.Context(), n); err == nil && created {
				count.Add(1)
			}
		})
		require.EqualValues(t, account.MaxLinks, count.Load())
		notice := account.Link{
			Hash: [32]byte{3}, Purpose: account.LinkNotice, Email: "new@example.com", CreatedAt: keyTime.Add(time.Hour),
			ExpiresAt: keyTime.Add(2 * time.Hour),
		}
		created, err = store.CreateLink(t.Context(), notice)
		require.NoError(t, err)
		require.True(t, created, "expired ones are forgotten")
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
