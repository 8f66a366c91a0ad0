package token

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLandingIsWhole(t *testing.T) {
	key, err := NewKey("k")
	require.NoError(t, err)
	ring, err := NewKeyring([]Key{key})
	require.NoError(t, err)
	a := sample()
	for landing, want := range map[string]string{
		"": "", "https://shop.example/a?b=1#c": "https://shop.example/a?b=1#c",
		"https://ä.example/" + strings.Repeat("x", 300): "https://ä.example/" + strings.Repeat("x", 300),
		strings.Repeat("y", MaxLanding):                 strings.Repeat("y", MaxLanding),
		strings.Repeat("z", MaxLanding+1):               "", "\xff": "",
	} {
		a.Landing = landing
		got, err := ring.Verify(ForRedirect, ring.Sign(PurposeClick, a), a.IssuedAt())
		require.NoError(t, err)
		require.Equal(t, want, got.Landing)
		content := AppendContent(nil, &a)
		link := string(ring.AppendShown(nil, PurposeClick, content, Display{Landing: landing}))
		require.Equal(t, ring.Sign(PurposeClick, a), link)
		require.LessOrEqual(t, len(link), MaxLen)
		other, err := ring.Verify(PurposeReport.Only(), ring.Sign(PurposeReport, a), a.IssuedAt())
		require.NoError(t, err)
		require.Empty(t, other.Landing)
	}
}

func TestDamagedLandingIsMalformed(t *testing.T) {
	for _, rest := range []string{"\x00", "\x02a", "\x01ab", "\x80", "\x80\x80\x80\x01a"} {
		r := reader{rest: rest}
		require.Empty(t, r.landing())
		require.True(t, r.bad, "%q", rest)
	}
}

// A receipt has what a reader saw of the ad, and the page's site alone.
func TestReceiptHasWhatWasShown(t *testing.T) {
	key, err := NewKey("k")
	require.NoError(t, err)
	ring, err := NewKeyring([]Key{key})
	require.NoError(t, err)
	a := sample()
	long := strings.Repeat("ä", MaxHeadline)
	for _, c := range []struct{ headline, landing, reply, site string }{
		{"", "", "", ""},
		{"Buy this", "https://shop.example/a?b=1#c", "Buy this", "https://shop.example"},
		{"Buy <b>this</b>", "https://shop.example:8443?b=1", "Buy <b>this</b>", "https://shop.example:8443"},
		{"", "https://shop.example#c", "", "https://shop.example"},
		{long, "https://shop.example", long[:MaxHeadline], "https://shop.example"},
	} {
		a.Headline, a.Landing = c.headline, c.landing
		text := ring.Sign(PurposeReceipt, a)
		require.Equal(
			t, text,
			string(ring.AppendShown(
				nil, PurposeReceipt, AppendContent(nil, &a), Display{Headline: c.headline, Landing: c.landing},
			)),
		)
		got, err := ring.Verify(ForReceipt, text, a.IssuedAt())
		require.NoError(t, err)
		require.Equal(t, [2]string{c.reply, c.site}, [2]string{got.Headline, got.Landing})
	}
}
