package limits

import (
	"cmp"
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
		_, doubted, err := l.TryLogin(email, address, func() bool { return address == "203.0.113.9" })
		err = cmp.Or(err, doubted)
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

// After many guesses from many networks a stranger needs more than the password. The owner passes
// from a known network, and its logins give guessers nothing back.
func TestGuessesOfManyNetworks(t *testing.T) {
	l, _, try := guessing(t)
	tried := 0
	for n := range 400 {
		if try("a@example.com", fmt.Sprintf("198.%d.%d.1", 18+n/200, n%200)) {
			tried++
		}
	}
	require.Equal(t, 200, tried, "in a day, from all networks")
	for range 30 { // its owner logs in
		takeBack, doubted, err := l.TryLogin("a@example.com", "203.0.113.9", func() bool { return true })
		require.NoError(t, err)
		require.NoError(t, doubted)
		takeBack()
	}
	require.False(t, try("a@example.com", "192.0.2.1"), "what was not counted is not taken back")
	for range 10 {
		require.True(t, try("a@example.com", "203.0.113.9"))
	}
	require.False(t, try("a@example.com", "203.0.113.9"), "also a known network guesses no more than others")
}

// One IPv6 line has few wrong passwords, however many networks it uses. A neighbour whose network is
// known passes.
func TestGuessesOfAnIPv6Line(t *testing.T) {
	l, _, try := guessing(t)
	for format, want := range map[string]int{"2001:db8:1:%x::1": 20, "2001:db8:2:%x00::1": 100} {
		tried := 0
		for n := range 256 {
			if try(fmt.Sprintf("%d@example.com", n), fmt.Sprintf(format, n)) {
				tried++
			}
		}
		require.Equal(t, want, tried, format)
	}
	_, doubted, err := l.TryLogin("owner@example.com", "2001:db8:2:ff00::9", func() bool { return true })
	require.NoError(t, cmp.Or(err, doubted))
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

// The bound of mails is that of a network, one e-mail and one purpose. One IPv6 line has no more.
func TestMailsOfANetwork(t *testing.T) {
	cfg := defaults()
	cfg.Mails = 5
	l, err := New(cfg, Deps{Now: (&clock{now: start}).Now})
	require.NoError(t, err)
	try := func(purpose, email, address string) (func(), bool) {
		back, err := l.TryMail(purpose, email, address)
		require.True(t, err == nil || errs.Is(err, errs.RateLimited), err)
		return back, err == nil
	}
	var back func()
	for n := range 5 {
		var ok bool
		back, ok = try("reset", "a@example.com", fmt.Sprintf("192.0.2.%d", n))
		require.True(t, ok)
	}
	full := func(purpose, email, address string) bool { _, ok := try(purpose, email, address); return !ok }
	require.True(t, full("reset", " A@example.com", "192.0.2.77"))
	require.False(t, full("register", "a@example.com", "192.0.2.77"))
	require.False(t, full("reset", "b@example.com", "192.0.2.77"))
	require.False(t, full("reset", "a@example.com", "198.51.100.1"), "a stranger's network is not the owner's")
	back()
	require.False(t, full("reset", "a@example.com", "192.0.2.77"))
	require.True(t, full("reset", "a@example.com", "192.0.2.77"))
	for bits, want := range map[string]int{"2001:db8:1:%x00::1": 10, "2001:db9:%x::1": 20} {
		asked := 0
		for n := range 200 {
			if _, ok := try("reset", "a@example.com", fmt.Sprintf(bits, n+1)); ok {
				asked++
			}
		}
		require.Equal(t, want, asked, bits)
	}
}
