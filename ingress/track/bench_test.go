package track

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/ingress/track/agents"
	"adnet/internal/token"
)

// BenchmarkBeacon measures an impression through the engine, without sockets and with a log that
// acknowledges at once, next to a bare gin handler that serves the same pixel.
func BenchmarkBeacon(b *testing.B) {
	f := newFixture(b)
	f.tracker.recorder.producer = ingresstest.Acked{}
	f.tracker.deps.Now = time.Now
	f.Now = time.Now()
	list, err := agents.New()
	require.NoError(b, err)
	views, err := limits.New(limits.Config{Views: 1 << 30}, limits.Deps{})
	require.NoError(b, err)
	f.tracker.traffic.agents, f.tracker.traffic.views = list, views
	query := "event=impression&campaign_id=" + campaignID.String() + "&auction_id=" + f.token() + "&session=s1&dev=" +
		developerID.String() + "&format=image"
	reader := auction(f.Now)
	reader.IntegrationMethod = "js_snippet"
	queries := map[string]string{"adnet": query, "bare-gin": query}
	queries["adnet-browser"] = "event=impression&campaign_id=" + campaignID.String() + "&auction_id=" + f.Ring.Sign(
		token.PurposeImpression, reader,
	) + "&session=s1&dev=" + developerID.String() + "&format=image"
	gin.SetMode(gin.ReleaseMode)
	bare := gin.New()
	bare.GET("/api/track", func(c *gin.Context) { c.Data(http.StatusOK, "image/gif", gif) })
	for _, h := range []struct {
		name    string
		handler http.Handler
	}{{"adnet", f.HTTP}, {"adnet-browser", f.HTTP}, {"bare-gin", bare}} {
		b.Run(h.name, func(b *testing.B) {
			b.ReportAllocs()
			header := http.Header{"User-Agent": {browser}}
			w := ingresstest.NewWriter()
			for b.Loop() {
				clear(w.Fields)
				h.handler.ServeHTTP(
					w,
					&http.Request{
						Method: http.MethodGet, URL: &url.URL{Path: "/api/track", RawQuery: queries[h.name]},
						Header: header, RemoteAddr: "203.0.113.7:4711",
					},
				)
			}
			require.Equal(b, http.StatusOK, w.Status)
		})
	}
}
