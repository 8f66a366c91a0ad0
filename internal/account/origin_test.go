package account_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// What a key names is the whole origin, or all hosts below a domain: nothing that only looks so.
func TestOriginsOfPages(t *testing.T) {
	key := account.Key{Origins: []string{
		"https://app.example.com", "https://*.shop.example.org", "https://*.ports.example.org:8443",
		"http://localhost:3000",
	}}
	for _, origin := range []string{
		"https://app.example.com", "https://a.shop.example.org", "https://a.b.shop.example.org",
		"https://x.ports.example.org:8443", "http://localhost:3000",
	} {
		require.True(t, key.Names(account.Patterns(origin)), origin)
		require.True(t, key.Allows(origin), origin)
	}
	for _, origin := range []string{
		"", "null", "*", "https://", "https://app.example.com.evil", "https://evil-app.example.com",
		"https://example.com", "https://a.app.example.com",
		"http://app.example.com", "https://app.example.com:8443", "https://app.example.com:443",
		"https://app.example.com:", "https://app.example.com/",
		"https://app.example.com/x", "https://app.example.com?x", "https://app.example.com#x",
		"https://u@app.example.com", "HTTPS://app.example.com",
		"https://APP.example.com", "https://app.example.com ", " https://app.example.com",
		"https://app.example.com,https://evil.example", "https://app.example.com.",
		"https://shop.example.org", "https://.shop.example.org", "https://evilshop.example.org",
		"https://a.shop.example.org.evil", "https://a/.shop.example.org",
		"https://a@b.shop.example.org", "https://a%2e.shop.example.org", "https://x.ports.example.org",
		"https://*.shop.example.org", "http://a.shop.example.org",
		"http://localhost:3001", "http://localhost", "https://localhost:3000", "file://", "https://аpp.example.com",
		"https://" + strings.Repeat("a.", 200) + "shop.example.org",
	} {
		require.False(t, key.Names(account.Patterns(origin)), origin)
		require.False(t, key.Allows(origin), origin)
	}
	require.Len(t, account.Patterns("https://192.0.2.7"), 1, "nothing is below an address")
	require.NotEmpty(t, account.Patterns("http://[::1]:3000"))
	require.NotEmpty(t, account.Patterns("http://127.0.0.1:3000"))
}

func TestOriginsOfKeys(t *testing.T) {
	s, _ := newService()
	u, err := s.Register(t.Context(), "a@example.com", "long enough password")
	require.NoError(t, err)
	make := func(origins ...string) (account.NewKey, error) {
		return s.CreateKey(
			t.Context(), u, account.KeyRequest{Kind: account.KindBrowser, Name: "page", Origins: origins},
		)
	}
	created, err := make(
		"https://app.example.com", "https://*.example.com", "http://127.0.0.1:3000", "https://app.example.com",
		"https://192.0.2.7:8443",
	)
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{"https://app.example.com", "https://*.example.com", "http://127.0.0.1:3000", "https://192.0.2.7:8443"},
		created.Origins,
	)
	require.True(t, strings.HasPrefix(created.Plain, "pk_live_"))
	for _, origin := range []string{
		"*", "null", "", "https://*", "https://*.com", "https://*.co.uk", "https://*.github.io", "https://*.192.0.2.7",
		"https://a.*.example.com", "https://*.*.example.com",
		"http://*.example.com", "http://example.com", "http://192.168.0.1", "https://app.example.com/",
		"https://app.example.com/x", "app.example.com", "//app.example.com",
		"https://APP.example.com", "https://bücher.example", "ftp://app.example.com", "https://u@app.example.com",
		"https://app.example.com:443", "https://app.example.com:99999",
	} {
		_, err := make(origin)
		require.True(t, errs.Is(err, errs.InvalidRequest), "%q: %v", origin, err)
		require.Equal(t, "origins", errs.Of(err).Extra["field"])
	}
	_, err = make()
	require.True(t, errs.Is(err, errs.InvalidRequest))
	_, err = make(strings.Split(strings.Repeat("https://app.example.com ", 33), " ")[:33]...)
	require.True(t, errs.Is(err, errs.InvalidRequest))
	_, err = s.CreateKey(
		t.Context(), u, account.KeyRequest{Kind: account.KindPublisher, Origins: []string{"https://app.example.com"}},
	)
	require.True(t, errs.Is(err, errs.InvalidRequest), "a secret key has no page")
}

func TestModelsReadSomePages(t *testing.T) {
	s, _ := newService()
	u, err := s.Register(t.Context(), "a@example.com", "long enough password")
	require.NoError(t, err)
	read := account.KeyRequest{
		Kind: account.KindBrowser, Origins: []string{"https://chat.example.com"}, ReadByModels: true,
	}
	created, err := s.CreateKey(t.Context(), u, read)
	require.NoError(t, err)
	require.True(t, created.ReadByModels)
	next, _, err := s.RotateKey(t.Context(), u, created.ID, 0)
	require.NoError(t, err)
	require.True(t, next.ReadByModels, "a replacement is for the same readers")
	for _, kind := range []account.KeyKind{account.KindPublisher, account.KindConversion} {
		_, err := s.CreateKey(t.Context(), u, account.KeyRequest{Kind: kind, ReadByModels: true})
		require.True(t, errs.Is(err, errs.InvalidRequest))
		require.Equal(t, "read_by_models", errs.Of(err).Extra["field"])
	}
}
