package storetest

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
)

var errEdit = errors.New("edit refuses")

var userCases = []testCase{
	{"ReadBackByIDAndEmail", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		got, err := s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, u, got)
		got, err = s.Users.UserByEmail(t.Context(), strings.ToUpper(u.Email))
		require.NoError(t, err)
		require.Equal(t, u, got)
	}},
	{"NetworksAreKnownForAWhile", func(t *testing.T, s Stores) {
		store := s.Logins
		a, b, at := AddUser(t, s), AddUser(t, s), keyTime
		knows := func(u account.User, network string, since time.Time) bool {
			known, err := store.KnowsNetwork(t.Context(), u.ID, network, since)
			require.NoError(t, err)
			return known
		}
		require.NoError(t, store.NoteNetwork(t.Context(), a.ID, "192.0.2.0/24", at, at))
		require.NoError(t, store.NoteNetwork(t.Context(), a.ID, "192.0.2.0/24", at, at), "idempotent")
		require.True(t, knows(a, "192.0.2.0/24", at))
		require.False(t, knows(a, "192.0.2.0/24", at.Add(time.Second)))
		require.False(t, knows(a, "198.51.100.0/24", at))
		require.False(t, knows(b, "192.0.2.0/24", at))
		require.NoError(
			t, store.NoteNetwork(t.Context(), a.ID, "198.51.100.0/24", at.Add(time.Hour), at.Add(time.Minute)),
		)
		require.False(t, knows(a, "192.0.2.0/24", at), "it was forgotten")
	}},
	{"UnknownIsNotFound", func(t *testing.T, s Stores) {
		AddUser(t, s)
		_, err := s.Users.User(t.Context(), newID(t))
		requireCode(t, err, errs.NotFound)
		_, err = s.Users.UserByEmail(t.Context(), "nobody@example.com")
		requireCode(t, err, errs.NotFound)
		_, err = s.Users.UpdateUser(t.Context(), newID(t), func(*account.User) error { return nil })
		requireCode(t, err, errs.NotFound)
	}},
	{"EmailIsUniqueInAnyCase", func(t *testing.T, s Stores) {
		first := AddUser(t, s)
		second := first
		second.ID, second.DeveloperID, second.Email = newID(t), newID(t), strings.ToUpper(first.Email)
		requireCode(t, s.Users.CreateUser(t.Context(), second), errs.Conflict)
		_, err := s.Users.User(t.Context(), second.ID)
		requireCode(t, err, errs.NotFound)
	}},
	{"EmailIsKeptInLowerCase", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		u.ID, u.DeveloperID, u.Email = newID(t), newID(t), "MiXed@Example.COM"
		require.NoError(t, s.Users.CreateUser(t.Context(), u))
		got, err := s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, "mixed@example.com", got.Email)
	}},
	{"ParallelSignUpsGiveOneAccount", func(t *testing.T, s Stores) {
		template := AddUser(t, s)
		var created, refused atomic.Int32
		together(8, func(i int) {
			u := template
			u.ID, u.DeveloperID, u.Email = newID(t), newID(t), "same@example.com"
			if i%2 == 0 {
				u.Email = "SAME@example.com"
			}
			switch err := s.Users.CreateUser(t.Context(), u); {
			case err == nil:
				created.Add(1)
			case errs.Is(err, errs.Conflict):
				refused.Add(1)
			}
		})
		require.EqualValues(t, 1, created.Load())
		require.EqualValues(t, 7, refused.Load())
	}},
	{"UpdateKeepsTheResultButNotTheIDs", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		want := u
		want.PasswordHash, want.Role, want.Disabled, want.TokenVersion = "$argon2id$y", account.RoleAdmin, true,
			u.TokenVersion+1
		want.Side = account.Both
		got, err := s.Users.UpdateUser(t.Context(), u.ID, func(e *account.User) error {
			e.PasswordHash, e.Role, e.Disabled = "$argon2id$y", account.RoleAdmin, true
			e.TokenVersion++
			e.Side = account.Both
			e.ID, e.DeveloperID, e.CreatedAt = newID(t), newID(t), e.CreatedAt.AddDate(1, 0, 0)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}},
	{"SuspensionHoldsCampaigns", suspensionHoldsCampaigns},
	{"NamesReachCampaigns", namesReachCampaigns},
	{"NamesAndEditsMeet", namesAndEditsMeet},
	{"TheLastAdministratorStays", theLastAdministratorStays},
	{"UsersAreFound", usersAreFound},
	{"Names", names},
	{"FailedEditChangesNothing", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		_, err := s.Users.UpdateUser(t.Context(), u.ID, func(e *account.User) error {
			e.TokenVersion, e.Email = 99, "other@example.com"
			return errEdit
		})
		require.ErrorIs(t, err, errEdit)
		got, err := s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, u, got)
		_, err = s.Users.UserByEmail(t.Context(), "other@example.com")
		requireCode(t, err, errs.NotFound)
	}},
	{"EditCannotTakeAnEmail", func(t *testing.T, s Stores) {
		a, b := AddUser(t, s), AddUser(t, s)
		_, err := s.Users.UpdateUser(t.Context(), b.ID, func(e *account.User) error {
			e.Email = strings.ToUpper(a.Email)
			return nil
		})
		requireCode(t, err, errs.Conflict)
		got, err := s.Users.UserByEmail(t.Context(), b.Email)
		require.NoError(t, err)
		require.Equal(t, b, got)
	}},
	{"ChangedEmailFreesTheOldOne", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		_, err := s.Users.UpdateUser(t.Context(), u.ID, func(e *account.User) error {
			e.Email = "New@example.com"
			return nil
		})
		require.NoError(t, err)
		got, err := s.Users.UserByEmail(t.Context(), "new@example.com")
		require.NoError(t, err)
		require.Equal(t, u.ID, got.ID)
		again := u
		again.ID, again.DeveloperID = newID(t), newID(t)
		require.NoError(t, s.Users.CreateUser(t.Context(), again))
	}},
	{"ParallelUpdatesLoseNothing", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		var failed atomic.Int32
		together(20, func(int) {
			_, err := s.Users.UpdateUser(t.Context(), u.ID, func(e *account.User) error {
				e.TokenVersion++
				e.Side = account.Both
				return nil
			})
			if err != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		got, err := s.Users.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, u.TokenVersion+20, got.TokenVersion)
	}},
}

func requireCode(t *testing.T, err error, code errs.Code) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, errs.Of(err).Code, "%v", err)
}
