package serve

import (
	"strings"
	"testing"
	"unicode/utf8"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
				ID: uuid.New(), Format: rapid.SampledFrom([]campaign.Format{campaign.Image, campaign.Video, campaign.Native}).Draw(t, "format"), Headline: draw("headline"), Subtext: draw("body"), MediaURL: draw("image"), CTALabel: draw("label"),
			},
			Token: []byte("AQEC-_token"), Sandbox: rapid.Bool().Draw(t, "sandbox"), DisclosureLabel: draw("disclosure"),
			base: safeURL("https://ads.example/" + draw("base")), developer: uuid.New(), session: draw("session"),
		}
		var want marshalled
		ad := &want.Ad
		ad.AdID, ad.AuctionID, ad.Type, ad.Headline, ad.Body = o.Creative.ID, string(o.Token), string(o.Creative.Format), o.Creative.Headline, o.Creative.Subtext
		ad.ImageURL, ad.CTALabel, ad.ClickURL, ad.ImpressionURL = o.Creative.MediaURL, o.Creative.CTALabel, string(o.AppendClick(nil)), string(o.AppendBeacon(nil, "impression"))
		ad.DisclosureLabel, ad.ReceiptURL, ad.Sandbox = o.DisclosureLabel, string(o.AppendReceipt(nil)), o.Sandbox
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

// A base URL makes links that JSON strings and Markdown take as they are; one of a URL's characters stays what it is.
func TestLinksAreSafe(t *testing.T) {
	for _, same := range []string{"", "https://ads.example:8443/a-b_c~d/(x)?y=1&z=%20", "https://werbung.öffentlich.example"} {
		require.Equal(t, same, safeURL(same))
	}
	rapid.Check(t, func(t *rapid.T) {
		safe := safeURL(rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\/<>&`\x00\n é\x7f"))), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "base"))
		quoted, err := jsontext.AppendQuote(nil, safe)
		require.NoError(t, err)
		require.Equal(t, `"`+safe+`"`, string(quoted))
		require.False(t, strings.ContainsAny(safe, "<>` \n"))
	})
	f := newFixture(t, 0)
	base := "https://one.example"
	f.server.deps.BaseURL = func() string { return base }
	require.Equal(t, "https://one.example", f.server.linkBase())
	base = `https://two.example/"`
	require.Equal(t, "https://two.example/%22", f.server.linkBase(), "the listener's address is known after the first question")
}

// An offer may be filled again: nothing is left of what it was.
func TestOffersAreFilledAfresh(t *testing.T) {
	f := newFixture(t, 0)
	caller := httpapi.Caller{DeveloperID: developerID}
	var offer Offer
	ask := func() Offer {
		in := Request{Context: "chess", SessionID: "s"}
		require.NoError(t, in.Check())
		require.NoError(t, f.server.Offer(t.Context(), caller, &in, &offer))
		return offer
	}
	first := string(ask().Token)
	require.NotNil(t, offer.Creative)
	second := ask()
	require.Len(t, second.Token, len(first))
	require.NotEqual(t, first, string(second.Token))
	f.shelf.refuse = auction.Paced
	none := ask()
	require.Nil(t, none.Creative)
	require.Empty(t, none.Token)
	require.Empty(t, none.session)
	require.Equal(t, auction.Paced, none.Reason)
	f.shelf.refuse, caller.Sandbox = "", true
	drawn := ask()
	require.True(t, drawn.Sandbox)
	require.Empty(t, drawn.Reason)
	caller.Sandbox = false
	require.False(t, ask().Sandbox)
}
