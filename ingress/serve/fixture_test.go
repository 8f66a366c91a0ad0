package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// fixture is the endpoint in a world whose shelf has one campaign that matches everything.
type fixture struct {
	*ingresstest.World
	reported *outcomes
	key      string // a live publisher key

	limiter *limiter
}

// limiter is limits that a test may replace.
type limiter struct{ *limits.Limits }

// outcomes stores the reported outcomes.
type outcomes struct{ reasons []auction.Reason }

func (o *outcomes) Observe(reason auction.Reason, _ time.Duration, _ time.Time) {
	o.reasons = append(o.reasons, reason)
}

// newFixture lets each publisher ask perMinute times a minute; 0 means no limit.
func newFixture(t testing.TB, perMinute int) *fixture {
	t.Helper()
	f := &fixture{World: ingresstest.New(t, ingresstest.Options{BaseURL: "https://ads.example/"}), reported: &outcomes{}}
	f.Shelf.Put(generic())
	rate, err := limits.New(limits.Config{PerMinute: perMinute}, limits.Deps{})
	require.NoError(t, err)
	selling := f.Selling()
	f.limiter = &limiter{rate}
	selling.Limiter, selling.Outcomes = f.limiter, f.reported
	New(Deps{Auth: f.Auth, Ads: ingresstest.Seller(selling)}).Mount(f.HTTP)
	f.key = f.Key(account.KindPublisher)
	return f
}

// generic matches everything.
func generic() campaign.Campaign {
	return campaign.Campaign{
		ID: uuid.UUID{15: 1}, AdvertiserID: ingresstest.AdvertiserID, Creative: campaign.Creative{
			Format: campaign.Native, Headline: "A & B <c>", Subtext: "sub", CTALabel: "Go",
			MediaURL: "https://shop.example/i.png?a=1&b=2", CTAURL: "https://shop.example/",
		},
		BillingModel: campaign.CPM,
		BidAmount:    5 * money.USD, CreditFunded: true,
	}
}

func (f *fixture) send(body string, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	return f.Do(http.MethodPost, "/v1/ad-request", body, header...)
}

// ask sends body with a key; the reply must be 200.
func (f *fixture) ask(key, body string) reply {
	f.T.Helper()
	w := f.send(body, "Authorization", "Bearer "+key)
	require.Equal(f.T, http.StatusOK, w.Code, w.Body)
	require.Equal(f.T, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.NotContains(f.T, w.Body.String(), `\u0026`, "links must be usable when copied from the text")
	var r reply
	require.NoError(f.T, json.Unmarshal(w.Body.Bytes(), &r, json.RejectUnknownMembers(true)))
	return r
}

// reply is the reply of the specification and what we add to it, nothing else.
type reply struct {
	AuctionID string `json:"auction_id"`
	Ad        *struct {
		AdID            string `json:"ad_id"`
		AuctionID       string `json:"auction_id"`
		Type            string `json:"type"`
		Headline        string `json:"headline"`
		Body            string `json:"body"`
		ImageURL        string `json:"image_url"`
		CTALabel        string `json:"cta_label"`
		ClickURL        string `json:"click_url"`
		ImpressionURL   string `json:"impression_url"`
		ViewableURL     string `json:"viewable_url"`
		DisclosureLabel string `json:"disclosure_label"`
		Sandbox         bool   `json:"sandbox"`

		ReceiptURL string `json:"receipt_url"` // added
		WhyLabel   string `json:"why_label"`   // added
	} `json:"ad"`
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retry_after"` // added
}
