package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestPublishing(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	none, want := object{"min_relevance": nil, "house_ads": false, "remember": true}, object{
		"min_relevance": 0.35, "house_ads": true, "remember": false,
	}
	require.Equal(t, none, me.Get(t, "/api/account/publishing").As(200))
	require.Equal(t, want, me.Call(t, "PUT", "/api/account/publishing", want).As(200))
	require.Equal(t, want, me.Get(t, "/api/account/publishing").As(200))
	require.Equal(t, none, other.Get(t, "/api/account/publishing").As(200), "each account has its own")
	for _, wrong := range []any{-0.1, 1.1, "x", 1.0000001, true} {
		require.Equal(
			t, "min_relevance",
			me.Call(
				t, "PUT", "/api/account/publishing", object{"min_relevance": wrong},
			).Fails(400, "invalid_request")["field"], "%v", wrong,
		)
	}
	me.Call(t, "PUT", "/api/account/publishing", object{"house_ads": "yes"}).Fails(400, "invalid_request")
	require.Equal(t, want, me.Get(t, "/api/account/publishing").As(200), "an error changes nothing")
	for _, edge := range []float64{0, 1} {
		require.Equal(
			t, object{"min_relevance": edge, "house_ads": false, "remember": true},
			me.Call(t, "PUT", "/api/account/publishing", object{"min_relevance": edge}).As(200),
		)
	}
	require.Equal(t, none, me.Call(t, "PUT", "/api/account/publishing", object{}).As(200))
	w.nobody().Get(t, "/api/account/publishing").Fails(401, "invalid_token")
}

func TestBlocks(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	none := object{"advertisers": []any{}, "domains": []any{}, "categories": []any{}, "words": []any{}}
	require.Equal(t, none, me.Get(t, "/api/account/blocks").As(200))
	rival := uuid.NewString()
	want := object{
		"advertisers": []any{rival}, "domains": []any{"shop.example"}, "categories": []any{"IAB7"},
		"words": []any{"casino"},
	}
	require.Equal(t, want, me.Call(t, "PUT", "/api/account/blocks", object{
		"advertisers": []any{rival, rival}, "domains": []any{"Shop.example"}, "categories": []any{"iab7"},
		"words": []any{" Casino"},
	}).As(200))
	require.Equal(t, want, me.Get(t, "/api/account/blocks").As(200))
	require.Equal(t, none, other.Get(t, "/api/account/blocks").As(200), "each account has its own")
	for field, value := range map[string]any{
		"advertisers": []any{"x"}, "domains": []any{"a b"}, "categories": []any{"IAB99"}, "words": []any{"?"},
	} {
		require.Equal(
			t, field,
			me.Call(t, "PUT", "/api/account/blocks", object{field: value}).Fails(400, "invalid_request")["field"],
		)
	}
	require.Equal(t, want, me.Get(t, "/api/account/blocks").As(200), "an error changes nothing")
	require.Equal(t, none, me.Call(t, "PUT", "/api/account/blocks", object{}).As(200))
	w.nobody().Get(t, "/api/account/blocks").Fails(401, "invalid_token")
}
