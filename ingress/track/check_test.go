package track

import (
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/ingresstest"
	"adnet/internal/token"
)

// The check of a conversion returns the result of the conversion itself, changes nothing, and
// reveals nothing about other accounts' clicks.
func TestConversionCheckRecordsNothing(t *testing.T) {
	f := newFixture(t)
	const path = "/api/track/check"
	contract := apitest.Load(t)
	owner, other := "Bearer "+f.login(advertiserID, uuid.New()), "Bearer "+f.login(uuid.New(), uuid.New())
	id := f.clickID()
	ask := func(who, body string) (reply checked) {
		t.Helper()
		w := f.Do(http.MethodPost, path, body, "Authorization", who)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		for _, path := range []string{path, "/api/track?action=check"} { // two forms of one call
			r := ingresstest.Request(http.MethodPost, path, body)
			contract.Accepts(t, r, body)
			contract.Check(t, r, w)
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
		return reply
	}
	body := conversion(t, id, map[string]any{"campaign_id": nil})
	for range 3 {
		good := ask(owner, body)
		require.True(t, good.Accepted, good.Message)
		require.Equal(t, "ok", good.Reason)
		require.Equal(t, campaignID.String(), good.CampaignID)
		require.Equal(t, "purchase", good.ConversionType)
		require.Equal(t, start.Add(5*time.Second), *good.ClickedAt)
	}
	require.True(
		t,
		ask(
			owner,
			conversion(
				t, id,
				map[string]any{
					"campaign_id": nil, "external_id": jsontext.Value("null"), "value": jsontext.Value("6.9e-143"),
				},
			),
		).Accepted,
	)
	foreign := ask(other, body)
	require.False(t, foreign.Accepted)
	require.Equal(
		t, checked{Reason: "not_yours", Message: foreign.Message}, foreign, "nothing is told of another's click",
	)
	for _, bad := range []string{
		"x", id[:len(id)-1] + "~", f.Ring.Sign(token.PurposeReport, auction(f.Now)),
		f.Ring.Sign(token.PurposeClick, auction(f.Now)),
	} {
		reply := ask(owner, conversion(t, bad, map[string]any{"campaign_id": nil}))
		require.Equal(t, checked{Reason: "bad_click_id", Message: reply.Message}, reply)
	}
	for who, code := range map[string]int{
		"": http.StatusUnauthorized, "Bearer x": http.StatusUnauthorized, "Bearer conv_live_x": http.StatusUnauthorized,
	} {
		require.Equal(t, code, f.Do(http.MethodPost, path, body, "Authorization", who).Code, who)
	}
	require.Equal(
		t, 400,
		f.Do(
			http.MethodPost, "/api/track?action=check", `{"event":"click","campaign_id":"`+campaignID.String()+`"}`,
			"Authorization", owner,
		).Code,
	)
	require.Equal(
		t, 400,
		f.Do(
			http.MethodPost, "/api/track?action=check", conversion(t, id, map[string]any{"value": -1}), "Authorization",
			owner,
		).Code,
	)

	// Nothing was recorded or marked: the conversion itself is the first.
	require.Empty(t, f.Log.Requests())
	require.Empty(t, f.seen.keys)
	w := f.Do(http.MethodPost, "/api/track", body, "Authorization", owner)
	require.Equal(t, http.StatusOK, w.Code)
	require.NotContains(t, w.Body.String(), "deduped")
	require.Len(t, f.Log.Requests(), 1)

	old := f.Ring.Sign(token.PurposeConversion, auction(f.Now.Add(-31*24*time.Hour)))
	late := ask(owner, conversion(t, old, map[string]any{"campaign_id": nil}))
	require.False(t, late.Accepted)
	require.Equal(t, "expired", late.Reason)
}
