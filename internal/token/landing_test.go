package token

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLandingIsInLinksAlone(t *testing.T) {
	key, err := NewKey("k")
	require.NoError(t, err)
	ring, err := NewKeyring([]Key{key})
	require.NoError(t, err)
	a := sample()
	for landing, want := range map[string]string{
		"": "", "https://shop.example/a?b=1#c": "https://shop.example/a?b=1#c", "https://ä.example/" + strings.Repeat("x", 300): "https://ä.example/" + strings.Repeat("x", 300),
		strings.Repeat("y", MaxLanding): strings.Repeat("y", MaxLanding), strings.Repeat("z", MaxLanding+1): "", "\xff": "",
	} {
		a.Landing = landing
		got, err := ring.Verify(ForRedirect, ring.Sign(PurposeClick, a), a.IssuedAt())
		require.NoError(t, err)
		require.Equal(t, want, got.Landing)
		content := AppendContent(nil, &a)
		link := string(ring.AppendLink(nil, content, landing))
		require.Equal(t, ring.Sign(PurposeClick, a), link)
		require.LessOrEqual(t, len(link), MaxLen)
		other, err := ring.Verify(ForReceipt, ring.Sign(PurposeReceipt, a), a.IssuedAt())
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
