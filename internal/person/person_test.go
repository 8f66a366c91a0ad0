package person_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/person"
)

// owing is a store whose accounts owe money.
type owing struct{ *memory.Store }

func (owing) AdvertiserBalance(context.Context, uuid.UUID) (money.Micros, error) {
	return -3 * money.USD, nil
}

func TestWhoIsNotErased(t *testing.T) {
	store := memory.New(time.Now)
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: "a@example.com", Role: account.RoleAdvertiser}
	require.NoError(t, store.CreateUser(t.Context(), u))
	_, err := person.Erase(t.Context(), owing{store}, u, person.Loss{}, time.Now())
	require.True(t, errs.Is(err, errs.Conflict), err)
	require.ErrorContains(t, err, "owes 3 USD")
	u.Role = account.RoleAdmin
	_, err = person.Erase(t.Context(), store, u, person.Loss{}, time.Now())
	require.True(t, errs.Is(err, errs.Conflict), err)
	stored, err := store.User(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, "a@example.com", stored.Email)
}
