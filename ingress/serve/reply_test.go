package serve

import (
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// marshalled is the Ad of the specification, and what we add to it, as a marshaller writes it.
type marshalled struct {
	Ad struct {
		AdID            uuid.UUID `json:"ad_id"`
		AuctionID       string    `json:"auction_id"`
		Type            string    `json:"type"`
		Headline        string    `json:"headline"`
		Body            string    `json:"body"`
		ImageURL        string    `json:"image_url"`
		CTALabel        string    `json:"cta_label"`
		ClickURL        string    `json:"click_url"`
		ImpressionURL   string    `json:"impression_url"`
		ViewableURL     string    `json:"viewable_url"`
		DisclosureLabel string    `json:"disclosure_label"`
		ReceiptURL      string    `json:"receipt_url"`
		WhyLabel        string    `json:"why_label,omitempty"`
		Advertiser      *struct {
			Name     string `json:"name"`
			Verified bool   `json:"verified"`
		} `json:"advertiser,omitempty"`
		Sandbox bool `json:"sandbox"`
	} `json:"ad"`
}

// none is the reply without an ad, as a marshaller writes it.
type none struct {
	Ad         *struct{}      `json:"ad"`
	AuctionID  uuid.UUID      `json:"auction_id,omitzero"`
	Reason     auction.Reason `json:"reason,omitempty"`
	RetryAfter int            `json:"retry_after,omitzero"`
	RetryTurns int            `json:"retry_after_turns,omitzero"`
}

func TestAppendedNoneIsTheMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := none{
			AuctionID: rapid.SampledFrom([]uuid.UUID{uuid.Nil, uuid.New()}).Draw(t, "id"),
			Reason: auction.Reason(
				rapid.SampledFrom([]string{"", "no_match", "a\"b", "\u2028é"}).Draw(t, "reason"),
			),
			RetryAfter: rapid.IntRange(0, 3).Draw(t, "seconds"),
			RetryTurns: rapid.IntRange(0, 3).Draw(t, "turns"),
		}
		text, err := json.Marshal(want)
		require.NoError(t, err)
		got, err := appendNone(
			[]byte("before"),
			&offer.Answer{
				AuctionID: want.AuctionID, Reason: want.Reason, RetryAfter: want.RetryAfter,
				RetryTurns: want.RetryTurns,
			},
		)
		require.NoError(t, err)
		require.Equal(t, "before"+string(text), string(got))
	})
}

func TestAppendedReplyIsTheMarshalled(t *testing.T) {
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	ring, err := token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\/<>&\x00\n\u2028é😀\x7f"))))
		draw := func(name string) string { return words.Draw(t, name) }
		base := draw("base")
		o := offer.Ad{
			Creative: &campaign.Campaign{
				ID: uuid.New(),
				Creative: campaign.Creative{
					Format: rapid.SampledFrom([]campaign.Format{
						campaign.Image, campaign.Video, campaign.Native,
					}).Draw(t, "format"),
					Headline: draw("headline"), Subtext: draw("body"), MediaURL: draw("image"),
					CTALabel: draw("label"),
				},
				Advertiser: account.Sponsor{Name: draw("advertiser"), Verified: rapid.Bool().Draw(t, "verified")},
			},
			Sandbox: rapid.Bool().Draw(t, "sandbox"), DisclosureLabel: draw("disclosure"), Why: draw("why"),
		}
		seller := offer.New(
			offer.Config{},
			offer.Deps{
				Metrics: prometheus.NewRegistry(), BaseURL: func() string { return "https://ads.example/" + base },
			},
		)
		o.Sign(ring, &token.Auction{AuctionID: uuid.Must(uuid.NewV7()), CampaignID: o.Creative.ID})
		o.SetLinks(seller.Base(), &offer.Place{Developer: uuid.New()})
		var want marshalled
		ad := &want.Ad
		ad.AdID, ad.AuctionID, ad.Type, ad.Headline, ad.Body = o.Creative.ID, string(o.AppendAuctionID(nil)),
			string(o.Creative.Format), o.Creative.Headline, o.Creative.Subtext
		ad.ImageURL, ad.CTALabel, ad.ClickURL, ad.ImpressionURL = o.Creative.MediaURL, o.Creative.CTALabel,
			string(o.AppendClick(nil)), string(
				o.AppendBeacon(nil, event.Type_IMPRESSION),
			)
		ad.ViewableURL = string(o.AppendBeacon(nil, event.Type_VIEWABLE))
		ad.DisclosureLabel, ad.ReceiptURL, ad.Sandbox = o.DisclosureLabel, string(o.AppendReceipt(nil)), o.Sandbox
		ad.WhyLabel = o.WhyLabel()
		if by := o.Creative.Advertiser; by.Name != "" && !o.Sandbox { // nobody pays for a test
			ad.Advertiser = &struct {
				Name     string `json:"name"`
				Verified bool   `json:"verified"`
			}{by.Name, by.Verified}
		}
		text, err := json.Marshal(want)
		require.NoError(t, err)
		got, err := AppendReply([]byte("before"), &o)
		require.NoError(t, err)
		require.Equal(t, "before"+string(text), string(got))
	})
	broken := offer.Ad{Creative: &campaign.Campaign{Creative: campaign.Creative{Headline: "a\xffb"}}}
	broken.Sign(ring, &token.Auction{AuctionID: uuid.Must(uuid.NewV7())})
	require.False(t, utf8.ValidString(broken.Creative.Headline))
	_, err = AppendReply(nil, &broken)
	require.Error(t, err)
}
