package limits

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// guessing returns limits with their clock, and an owner whose network is known.
func guessing(t *testing.T) (*Limits, *clock, func(email, address string) bool) {
	t.Helper()
	now := &clock{now: start}
	l, err := New(defaults(), Deps{Now: now.Now})
	require.NoError(t, err)
	return l, now, func(email, address string) bool {
		err := l.TryLogin(email, address, func() bool { return address == "203.0.113.9" })
		require.True(t, err == nil || errs.Is(err, errs.RateLimited), err)
		return err == nil
	}
}

// A caller that guesses passwords waits longer after more guesses.
func TestGuessesOfANetwork(t *testing.T) {
	_, now, try := guessing(t)
	for n := range 10 {
		require.True(t, try("a@example.com", fmt.Sprintf("192.0.2.%d", n)), "another address of the network")
	}
	require.False(t, try("A@example.com ", "192.0.2.99"))
	require.True(t, try("b@example.com", "192.0.2.99"), "another account")
	require.True(t, try("a@example.com", "198.51.100.1"), "another network")
	tried := 10
	for range 24 * 6 {
		now.pass(11 * time.Minute)
		for try("a@example.com", "192.0.2.1") {
			tried++
		}
	}
	require.Less(t, tried, 100, "in a day")
	require.GreaterOrEqual(t, tried, 40)
}

// A stranger with many networks is stopped without locking out the owner.
func TestGuessesOfManyNetworks(t *testing.T) {
	l, _, try := guessing(t)
	tried := 0
	for n := range 200 {
		if try("a@example.com", fmt.Sprintf("198.51.%d.1", n)) {
			tried++
		}
	}
	require.Equal(t, 50, tried, "in an hour, from all networks")
	require.False(t, try("a@example.com", "192.0.2.1"), "an unknown network")
	for range 30 { // its owner logs in
		require.True(t, try("a@example.com", "203.0.113.9"))
		l.LoggedIn("a@example.com", "203.0.113.9")
	}
	for range 10 {
		require.True(t, try("a@example.com", "203.0.113.9"))
	}
	require.False(t, try("a@example.com", "203.0.113.9"), "also a known network guesses no more than others")
}

func TestWorkOfAnAccount(t *testing.T) {
	cfg := defaults()
	cfg.Writes, cfg.Stats, cfg.Reads = 120, 60, 600
	now := &clock{now: start}
	l, err := New(cfg, Deps{Now: now.Now})
	require.NoError(t, err)
	a, b := uuid.New(), uuid.New()
	spend := func(account uuid.UUID, what httpapi.Work) error {
		return l.Spend(httpapi.NewContext(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil)), account, what)
	}
	for range 120 {
		require.NoError(t, spend(a, httpapi.WorkWrites))
	}
	require.True(t, errs.Is(spend(a, httpapi.WorkWrites), errs.RateLimited))
	require.NoError(t, spend(b, httpapi.WorkWrites), "another account")
	for range 60 {
		require.NoError(t, spend(a, httpapi.WorkStats))
	}
	require.True(t, errs.Is(spend(a, httpapi.WorkStats), errs.RateLimited))
	for range 600 {
		require.NoError(t, spend(a, httpapi.WorkReads))
	}
	require.True(t, errs.Is(spend(a, httpapi.WorkReads), errs.RateLimited))
	require.NoError(t, spend(b, httpapi.WorkReads), "another account")
	now.pass(time.Minute + 2*time.Second)
	require.NoError(t, spend(a, httpapi.WorkWrites))
	require.NoError(t, spend(a, httpapi.WorkReads))
}
