package httpapi_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
)

// A disabled account is locked out even with a token of its current version, which a concurrent
// password change may have created.
func TestDisabledAccountIsRejectedWithAnyToken(t *testing.T) {
	d := newDoor(t)
	for _, disabled := range []bool{false, true} {
		u := account.User{
			ID: uuid.New(), DeveloperID: uuid.New(), Email: uuid.NewString() + "@example.com", Role: account.RoleAdmin,
			TokenVersion: 1, Disabled: disabled, CreatedAt: d.now,
		}
		require.NoError(t, d.store.Accounts.CreateUser(t.Context(), u))
		if !disabled {
			require.Equal(t, 200, d.try("/admin", d.token(t, u)))
			continue
		}
		require.Equal(t, 403, d.try("/user", d.token(t, u)))
		require.Equal(t, 403, d.try("/admin", d.token(t, u)))
	}
}
