package serve

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/errs"

	"github.com/stretchr/testify/require"
)

// FuzzAdRequest decodes and checks any body: it never panics, a refusal is one of the envelope's codes, and
// what is accepted keeps every limit.
func FuzzAdRequest(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		var in, plain Request
		err := httpapi.Unmarshal(body, &in)
		if plain.read(string(body)) {
			require.NoError(t, err, "what the general decoder refuses was taken")
			require.Equal(t, in, plain)
		}
		if err == nil {
			err = in.Check()
		}
		if err != nil {
			code := errs.Of(err).Code
			require.True(t, code == errs.InvalidRequest || code == errs.MissingContext, "%v", err)
			require.True(t, utf8.ValidString(errs.Of(err).Message))
			return
		}
		require.NotEmpty(t, strings.TrimSpace(in.Context))
		require.LessOrEqual(t, utf8.RuneCountInString(in.Context), maxContext)
		require.Contains(t, formats, in.Format)
		require.Contains(t, placements, in.Placement)
		require.LessOrEqual(t, len(in.ActiveTools), maxTools)
		for _, text := range append(slices.Clone(in.ActiveTools), in.Context, in.Platform, in.HostApp, in.UserRegion, in.UserLanguage, in.SessionID) {
			require.True(t, utf8.ValidString(text))
			require.NotContains(t, text, "\x00")
		}
		require.NotEmpty(t, in.surface())
		auction.Tokenize(in.Context)
	})
}
