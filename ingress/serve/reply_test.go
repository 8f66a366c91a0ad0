package serve

import (
	"testing"
	"unicode/utf8"

	"adnet/internal/campaign"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
		DisclosureLabel string    `json:"disclosure_label"`
		ReceiptURL      string    `json:"receipt_url"`
		Sandbox         bool      `json:"sandbox"`
	} `json:"ad"`
}

func TestAppendedReplyIsTheMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\/<>&\x00\n\u2028é😀\x7f"))))
		draw := func(name string) string { return words.Draw(t, name) }
		o := Offer{
			Creative: &campaign.Campaign{
				ID: uuid.New(), Format: campaign.Format(draw("format")), Headline: draw("headline"), Subtext: draw("body"), MediaURL: draw("image"), CTALabel: draw("label"),
			},
			Token: "AQEC-_token", Sandbox: rapid.Bool().Draw(t, "sandbox"), DisclosureLabel: draw("disclosure"),
			base: "https://ads.example/" + draw("base"), developer: uuid.New(), session: draw("session"),
		}
		var want marshalled
		ad := &want.Ad
		ad.AdID, ad.AuctionID, ad.Type, ad.Headline, ad.Body = o.Creative.ID, o.Token, string(o.Creative.Format), o.Creative.Headline, o.Creative.Subtext
		ad.ImageURL, ad.CTALabel, ad.ClickURL, ad.ImpressionURL = o.Creative.MediaURL, o.Creative.CTALabel, o.ClickURL(), o.BeaconURL("impression")
		ad.DisclosureLabel, ad.ReceiptURL, ad.Sandbox = o.DisclosureLabel, o.ReceiptURL(), o.Sandbox
		text, err := json.Marshal(want)
		require.NoError(t, err)
		got, err := appendReply([]byte("before"), &o)
		require.NoError(t, err)
		require.Equal(t, "before"+string(text), string(got))
	})
	require.Equal(t, uuid.Nil.String(), string(appendID(nil, uuid.Nil)))
	broken := Offer{Creative: &campaign.Campaign{Headline: "a\xffb"}}
	require.False(t, utf8.ValidString(broken.Creative.Headline))
	_, err := appendReply(nil, &broken)
	require.Error(t, err)
}
