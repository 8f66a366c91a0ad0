package rtb

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/account"
)

// asks sends a bid request with a key in the path, from an address.
func (f *fixture) asks(key, from string) int {
	f.T.Helper()
	r := ingresstest.Request(http.MethodPost, "/api/rtb/"+key, simple)
	r.RemoteAddr = from
	return f.Send(f.T, r).Code
}

// seat makes keys of one seat.
func (f *fixture) seat(requests ...account.KeyRequest) (keys []account.NewKey) {
	f.T.Helper()
	accounts := account.NewService(account.Deps{Users: f.Store.Accounts, Keys: f.Store.Accounts, Now: f.Clock})
	admin, err := f.Store.Accounts.UserByEmail(f.T.Context(), "boss@example.com")
	if err != nil {
		admin, err = accounts.CreateAdmin(f.T.Context(), "boss@example.com", "a quiet harbour")
	}
	require.NoError(f.T, err)
	for _, r := range requests {
		if len(keys) > 0 {
			r.SeatID = keys[0].OwnerID
		}
		k, err := accounts.CreateKey(f.T.Context(), admin, r)
		require.NoError(f.T, err)
		keys = append(keys, k)
	}
	return keys
}

func TestKeyInThePath(t *testing.T) {
	f := newFixture(t)
	keys := f.seat(account.KeyRequest{Kind: account.KindSeatPath}, account.KeyRequest{Kind: account.KindSeat},
		account.KeyRequest{Kind: account.KindSeatPath, Addresses: []string{"192.0.2.0/24", "2001:db8::7"}})
	path, header, listed := keys[0].Plain, keys[1].Plain, keys[2].Plain
	const anywhere = "203.0.113.9:4000"
	require.Equal(t, http.StatusOK, f.asks(path, anywhere))
	for from, want := range map[string]int{
		"192.0.2.200:1": 200, "[2001:db8::7]:1": 200, "[::ffff:192.0.2.1]:1": 200, anywhere: 401,
		"[2001:db8::8]:1": 401, "192.0.3.1:1": 401,
	} {
		require.Equal(t, want, f.asks(listed, from), from)
	}
	// Neither kind does the other's work, nor a publisher's.
	for _, wrong := range []string{
		header, f.Key(account.KindPublisher), "pub_test_sandbox", path[:len(path)-1], path + "x", "x",
	} {
		require.Equal(t, http.StatusUnauthorized, f.asks(wrong, anywhere), wrong)
	}
	f.key = path
	require.Equal(t, http.StatusUnauthorized, f.send([]byte(simple)).Code)
	r := ingresstest.Request(http.MethodPost, "/api/rtb/x", simple, "Authorization", "Bearer "+header)
	require.Equal(t, http.StatusUnauthorized, f.Send(t, r).Code, "the header counts on the other path")
	for _, op := range []string{"", "?op=win", "?op=status"} {
		w := f.Do(http.MethodGet, "/api/rtb/"+path+op, "")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, op)
		require.NotContains(t, w.Body.String(), path)
	}
	require.NoError(t, f.Store.Accounts.RevokeKey(t.Context(), keys[0].OwnerID, keys[0].ID, f.Now))
	f.Now = f.Now.Add(3e9)
	require.Equal(t, http.StatusUnauthorized, f.asks(path, anywhere))
}

// What a seat shows is its own publisher's, by whichever of its keys it asks.
func TestEachSeatIsAPublisher(t *testing.T) {
	f := newFixture(t)
	first := f.seat(account.KeyRequest{Kind: account.KindSeat}, account.KeyRequest{Kind: account.KindSeatPath})
	second := f.seat(account.KeyRequest{Kind: account.KindSeat})
	require.NotEqual(t, first[0].DeveloperID, second[0].DeveloperID)
	sold := func(send func() string) uuid.UUID {
		t.Helper()
		return f.adToken(send()).DeveloperID
	}
	byHeader := func(key string) func() string {
		return func() string { f.key = key; return f.bids(simple)[0].AdM }
	}
	byPath := func() string {
		w := f.Send(t, ingresstest.Request(http.MethodPost, "/api/rtb/"+first[1].Plain, simple))
		require.Equal(t, http.StatusOK, w.Code)
		return strict(t, w.Body.Bytes()).SeatBid[0].Bid[0].AdM
	}
	require.Equal(t, first[0].DeveloperID, sold(byHeader(first[0].Plain)))
	require.Equal(t, first[0].DeveloperID, sold(byPath))
	require.Equal(t, second[0].DeveloperID, sold(byHeader(second[0].Plain)))
}
