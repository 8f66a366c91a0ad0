package person_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/person"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/store/memory"
)

// owing is a ledger whose accounts owe money.
type owing struct{ person.Ledger }

func (owing) AdvertiserBalance(context.Context, uuid.UUID) (money.Micros, error) {
	return -3 * money.USD, nil
}

func TestWhoIsNotErased(t *testing.T) {
	stores := memory.New(time.Now)
	store := person.Store{
		Accounts: stores.Accounts, Campaigns: stores.Campaigns, Ledger: stores.Ledger, Audit: stores.Audit,
		Cases: stores.Publishers,
	}
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: "a@example.com", Role: account.RoleAdvertiser}
	require.NoError(t, store.Accounts.CreateUser(t.Context(), u))
	indebted := store
	indebted.Ledger = owing{store.Ledger}
	_, err := person.Erase(t.Context(), indebted, u, person.Loss{}, time.Now())
	require.True(t, errs.Is(err, errs.Conflict), err)
	require.ErrorContains(t, err, "owes 3 USD")
	u.Role = account.RoleAdmin
	_, err = person.Erase(t.Context(), store, u, person.Loss{}, time.Now())
	require.True(t, errs.Is(err, errs.Conflict), err)
	stored, err := store.Accounts.User(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, "a@example.com", stored.Email)
}
