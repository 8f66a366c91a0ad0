package account

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

func TestBlocksAreNormalized(t *testing.T) {
	a, b := uuid.UUID{1}, uuid.UUID{2}
	got := Blocks{
		Advertisers: []uuid.UUID{b, a, b}, Domains: []string{" Shop.Example. ", "münchen.example", "shop.example"},
		Categories: []string{"iab7-39", "IAB7-39", "IAB26"}, Words: []string{"  Free   CASINO ", "賭博", "casino"},
	}
	require.NoError(t, got.Normalize())
	require.Equal(t, Blocks{
		Advertisers: []uuid.UUID{a, b}, Domains: []string{"shop.example", "xn--mnchen-3ya.example"},
		Categories: []string{"IAB26", "IAB7-39"}, Words: []string{"casino", "free casino", "賭博"},
	}, got)
	require.NoError(t, got.Normalize(), "again")
	var none Blocks
	require.NoError(t, none.Normalize())
	require.NotNil(t, none.Domains)
	require.Nil(t, none.Ready(), "costs nothing")
	many := func() (list []string) {
		for range MaxBlocked + 1 {
			list = append(list, "x")
		}
		return list
	}()
	for field, bad := range map[string][]Blocks{
		"advertisers": {{Advertisers: make([]uuid.UUID, MaxBlocked+1)}},
		"domains": {
			{Domains: many}, {Domains: []string{""}}, {Domains: []string{"https://a.example"}},
			{Domains: []string{"a b"}}, {Domains: []string{"a..b"}}, {Domains: []string{strings.Repeat("a.", 200)}},
			{Domains: []string{"a\x00b"}},
		},
		"categories": {
			{Categories: many}, {Categories: []string{"IAB0"}}, {Categories: []string{"IAB27"}},
			{Categories: []string{"games"}},
		},
		"words": {
			{Words: many}, {Words: []string{" "}}, {Words: []string{"!"}}, {Words: []string{strings.Repeat("é", 61)}},
			{Words: []string{"a\x00"}},
		},
	} {
		for _, b := range bad {
			err := errs.Of(b.Normalize())
			require.Equal(t, errs.InvalidRequest, err.Code, "%q", b)
			require.Equal(t, field, err.Extra["field"])
		}
	}
}

func TestBlocksRefuse(t *testing.T) {
	b := Blocks{Categories: []string{"IAB7", "IAB9-30"}, Words: []string{"casino", "get rich", "賭博", "c++"}}
	require.NoError(t, b.Normalize())
	ready := b.Ready()
	for text, want := range map[string]bool{
		"Online Casino!": true, "CASINO": true, "саsinо": true, "c\u200basino": true, "Casinos of art": false,
		"incasino":   false,
		"Get   rich": true, "get richer": false, "forget rich": false, "最高の賭博場": true, "learn C++ now": true, "": false,
		"c": false, "casinos casino": true,
	} {
		require.Equal(t, want, ready.Refuse([]string{"x", text}, nil), text)
	}
	for category, want := range map[string]bool{
		"IAB7": true, "IAB7-39": true, "IAB70": false, "IAB9": false, "IAB9-30": true, "IAB9-3": false,
	} {
		require.Equal(t, want, ready.Refuse(nil, []string{"IAB1", category}), category)
	}
}
