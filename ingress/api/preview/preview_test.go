package preview_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	htmlparser "golang.org/x/net/html"

	"adnet/ingress/api/preview"
	"adnet/ingress/ingresstest"
	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/token"
)

// noNodes are the serving nodes of a world without any.
type noNodes struct{}

func (noNodes) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }

type world struct {
	*ingresstest.World
	me *ingresstest.Person
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := ingresstest.New(t, ingresstest.Options{Now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)})
	campaigns := campaign.NewService(campaign.Deps{
		Store: w.Store.Campaigns, Announcer: noNodes{}, Now: w.Clock, CreditValue: money.USD,
	})
	preview.New(preview.Deps{
		Campaigns: campaigns, BaseURL: w.HTTP.BaseURL, Labels: new(offer.LabelConfig).Labels, VideoSec: 15,
	}).Mount(w.HTTP)
	pages, err := preview.NewPages(w.HTTP.BaseURL)
	require.NoError(t, err)
	pages.Mount(w.HTTP)
	return &world{w, w.Login(t, account.User{})}
}

type display struct {
	Ad struct {
		Headline, Body, Type string
		AuctionID            string `json:"auction_id"`
		ImageURL             string `json:"image_url"`
		ClickURL             string `json:"click_url"`
		ImpressionURL        string `json:"impression_url"`
		ViewableURL          string `json:"viewable_url"`
		ReceiptURL           string `json:"receipt_url"`
		Sandbox              bool
	}
	MCP      struct{ Headline string }
	Markdown string
	Banners  []struct {
		Width, Height int
		HTML          string
	}
	VAST     string
	Sample   bool
	Unserved map[string]string
}

func (w *world) shows(t *testing.T, draft map[string]any) (s display, text string) {
	t.Helper()
	body, err := json.Marshal(draft)
	require.NoError(t, err)
	reply := w.Do(http.MethodPost, "/api/campaigns/preview", string(body), "Authorization", "Bearer "+w.me.Token)
	require.Equal(t, 200, reply.Code, reply.Body)
	require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &s))
	return s, reply.Body.String()
}

func TestPreviewOfADraft(t *testing.T) {
	w := newWorld(t)
	// A draft without a picture is shown without one, and not where it never runs.
	s, text := w.shows(t, map[string]any{"headline": "Chess lessons", "cta_url": "https://shop.com/"})
	require.False(t, s.Sample)
	require.Equal(t, "Chess lessons", s.Ad.Headline)
	require.Equal(t, "Chess lessons", s.MCP.Headline)
	require.Contains(t, s.Markdown, "Sponsored")
	require.NotContains(t, text, "/demo/media/")
	require.Equal(t, map[string]string{"banner": "image", "vast": "video"}, s.Unserved)
	require.Empty(t, s.Banners)
	require.Empty(t, s.VAST)
	// The demo's media stand in for those that cannot be loaded.
	s, _ = w.shows(t, map[string]any{"headline": "Chess lessons", "media_url": "https://media.shop.example/p.png"})
	require.True(t, s.Sample)
	require.True(t, strings.HasSuffix(s.Ad.ImageURL, "/demo/media/picture.svg"), s.Ad.ImageURL)
	require.Len(t, s.Banners, 5)
	require.Contains(t, s.Banners[0].HTML, "width:300px;height:250px")
	require.Equal(t, map[string]string{"vast": "video"}, s.Unserved)
	// Loadable media are shown unchanged.
	s, _ = w.shows(t, map[string]any{"headline": "Chess lessons", "media_url": "https://cdn.shop.com/p.png"})
	require.False(t, s.Sample)
	require.Equal(t, "https://cdn.shop.com/p.png", s.Ad.ImageURL)
	s, _ = w.shows(t, map[string]any{
		"headline": "Films", "format": "video", "media_url": "https://cdn.shop.com/f.mp4", "billing_event": "viewable",
	})
	require.Contains(t, s.VAST, "https://cdn.shop.com/f.mp4")
	require.NoError(t, xml.Unmarshal([]byte(s.VAST), new(struct{})))
	require.Empty(t, s.Banners)
	require.Equal(t, map[string]string{"banner": "image", "embed": "view", "vast": "view"}, s.Unserved)
	// Media at the demo's names are not requested.
	s, text = w.shows(
		t,
		map[string]any{
			"headline": "Films", "format": "video", "media_url": "https://media.shop.example/f.mp4",
			"logo_url": "https://media.shop.example/l.png",
		},
	)
	require.NotContains(t, text, "media.shop.example")
	require.Contains(t, s.VAST, "/demo/media/film.webm")

	for _, token := range []string{"", "Bearer x"} {
		require.Equal(
			t, 401, w.Do(http.MethodPost, "/api/campaigns/preview", `{"headline":"x"}`, "Authorization", token).Code,
		)
	}
	ingresstest.RequireError(
		t,
		w.Do(
			http.MethodPost, "/api/campaigns/preview", `{"headline":"x","media_url":"http://shop.com/a.png"}`,
			"Authorization", "Bearer "+w.me.Token,
		), 400, "invalid_request", "media_url",
	)
}

// The tokens of a preview are invalid everywhere: no installation has their key, and the links lead
// to pages that record nothing.
func TestPreviewTokensAreInvalid(t *testing.T) {
	w := newWorld(t)
	s, text := w.shows(t, map[string]any{
		"headline": "Chess", "cta_url": "https://shop.com/", "bid_amount": 1000, "format": "image",
	})
	require.True(t, s.Ad.Sandbox)
	found := regexp.MustCompile(
		`(?:auction_id=|/s/|/r/|"auction_id":")([A-Za-z0-9_.-]{40,})`,
	).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(found), 5)
	for _, match := range found {
		for purpose := token.PurposeReport; purpose <= token.PurposeViewable; purpose++ {
			_, err := w.Ring.Verify(purpose.Only(), match[1], time.Now())
			require.Error(t, err)
		}
	}
	// A genuine token passes the same check.
	genuine := w.Ring.AppendSign(nil, token.PurposeReport, token.Auction{AuctionID: uuid.Must(uuid.NewV7())})
	_, err := w.Ring.Verify(token.PurposeReport.Only(), string(genuine), time.Now())
	require.NoError(t, err)
	own := regexp.MustCompile(regexp.QuoteMeta(w.HTTP.BaseURL()) + `(/[^"'<> \\)]*)`)
	for _, match := range own.FindAllStringSubmatch(text, -1) {
		require.True(
			t, strings.HasPrefix(match[1], "/console/preview/") || strings.HasPrefix(match[1], "/demo/media/"),
			match[1],
		)
	}
}

// A draft's texts are escaped on every surface.
func TestHostileDraft(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{
		`"><img src=x onerror=alert(1)>`, `</script><script>alert(1)`, `]]><x>`, "javascript:alert(1)",
		`${AUCTION_PRICE}`, `[x](javascript:y)`,
	} {
		draft := map[string]any{
			"headline": text, "subtext": text, "cta_label": text, "format": "video", "media_url": "https://shop.com/f.mp4",
			"cta_url": "https://shop.com/?" + strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), `\`, ""),
		}
		film, _ := w.shows(t, draft)
		draft["format"], draft["media_url"] = "image", ""
		s, _ := w.shows(t, draft)
		require.NotEmpty(t, s.Banners)
		for _, b := range s.Banners {
			for z := htmlparser.NewTokenizer(strings.NewReader(b.HTML)); ; {
				kind := z.Next()
				if kind == htmlparser.ErrorToken {
					require.ErrorIs(t, z.Err(), io.EOF)
					break
				}
				tag := z.Token()
				require.NotContains(t, []string{"script", "iframe", "x"}, tag.Data)
				for _, a := range tag.Attr {
					require.False(t, strings.HasPrefix(a.Key, "on"), b.HTML)
					require.False(t, strings.HasPrefix(a.Val, "javascript:"), b.HTML)
				}
			}
			require.NotContains(t, b.HTML, "${")
		}
		require.NoError(t, xml.Unmarshal([]byte(film.VAST), new(struct{})), film.VAST)
		require.NotContains(t, film.VAST, "<x>")
		require.NotRegexp(t, `[^\\]\]\(javascript:`, s.Markdown)
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	w.Contract = nil // pages and media are no operations of the API
	for _, surface := range []string{"banner", "card", "embed", "text", "vast", "mcp"} {
		reply := w.Do(http.MethodGet, "/console/preview/"+surface, "")
		require.Equal(t, 200, reply.Code, surface)
		policy := reply.Header().Get("Content-Security-Policy")
		for _, rule := range []string{
			"default-src 'none'", "frame-ancestors 'self'", "sandbox allow-scripts", "form-action 'none'",
			"base-uri 'none'",
		} {
			require.Contains(t, policy, rule, surface)
		}
		require.NotContains(t, policy, "connect-src", "nothing is sent: default-src is none")
		require.NotContains(t, policy, "allow-same-origin")
		scripts := regexp.MustCompile(`script-src ([^;]*)`).FindStringSubmatch(policy)[1]
		if surface == "mcp" {
			require.Regexp(t, `^'sha256-[A-Za-z0-9+/=]{44}'$`, scripts)
		} else {
			require.Equal(t, "'self'", scripts)
		}
		require.Equal(t, "no-referrer", reply.Header().Get("Referrer-Policy"), surface)
		require.Empty(t, reply.Header().Get("X-Frame-Options"), surface)
		// It holds no ad: nothing of an address is in it.
		require.Equal(
			t, reply.Body.String(),
			w.Do(http.MethodGet, "/console/preview/"+surface+"?headline=x&html=%3Cb%3E", "").Body.String(),
		)
	}
	require.Equal(t, "video/webm", w.Do(http.MethodGet, "/demo/media/film.webm", "").Header().Get("Content-Type"))
	require.Equal(t, "image/svg+xml", w.Do(http.MethodGet, "/demo/media/picture.svg", "").Header().Get("Content-Type"))
	require.Equal(t, 404, w.Do(http.MethodGet, "/demo/media/none.png", "").Code)
}
