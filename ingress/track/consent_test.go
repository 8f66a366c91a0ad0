package track

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/token"
)

// For a reader who did not consent, by the token, the browser (Sec-GPC) or the report, no session
// and no order is stored, and the landing page gets no click id.
func TestWithoutConsent(t *testing.T) {
	f := newFixture(t)
	silent := auction(f.Now)
	silent.NoConsent = true
	gpc := []string{"Sec-GPC", "1"}
	for name, c := range map[string]struct {
		a       token.Auction
		header  []string
		report  string
		refused bool
	}{
		"nothing said":             {a: auction(f.Now)},
		"refused with the request": {a: silent, refused: true},
		"refused by the browser":   {a: auction(f.Now), header: gpc, refused: true},
		"refused in the report":    {a: auction(f.Now), report: `,"consent":{"coppa":true}`, refused: true},
		"consent cannot undo it":   {a: silent, report: `,"consent":{"us_privacy":"1YNN"}`, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			signed := f.Ring.Sign(token.PurposeReport, c.a)
			w := f.Do(
				http.MethodPost, "/api/track",
				`{"event":"impression","campaign_id":"`+campaignID.String()+`","auction_id":"`+signed+
					`","session":"person-1"`+c.report+`}`, c.header...,
			)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, c.refused, f.last().NoConsent)
			require.Equal(t, c.refused, len(f.last().SessionHash) == 0)

			w = f.Do(
				http.MethodPost, "/api/track",
				`{"event":"conversion","campaign_id":"`+campaignID.String()+`","auction_id":"`+signed+
					`","external_id":"order-1"`+c.report+`}`, c.header...,
			)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), "order-1", "the caller's own word")
			require.Equal(t, c.refused, len(f.last().Conversion.ExternalHash) == 0)
			if c.report != "" {
				return
			}
			requirePixel(
				t, f.Do(http.MethodGet, "/api/track?event=skip&session=person-1&auction_id="+signed, "", c.header...),
			)
			require.Equal(t, c.refused, len(f.last().SessionHash) == 0)
			w = f.Do(http.MethodGet, "/s/"+f.Ring.Sign(token.PurposeClick, c.a)+"?session=person-1", "", c.header...)
			require.Equal(t, http.StatusFound, w.Code)
			require.Equal(t, c.refused, len(f.last().SessionHash) == 0)
			if c.refused {
				require.Equal(t, landing, w.Header().Get("Location"), "nothing is appended")
			} else {
				require.Equal(t, landing, f.withoutClickID(w.Header().Get("Location")))
			}
		})
	}
}
