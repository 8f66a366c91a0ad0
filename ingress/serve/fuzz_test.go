package serve

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/errs"
)

// Each field of a request is read in one pass, as the general decoder reads it.
func TestEachFieldIsReadInOnePass(t *testing.T) {
	const body = `{"context":"a","messages":[{"role":"user","content":"b"},{}],"contents":[{"content":"c"}],` +
		`"min_relevance":0.5,"format":"card","placement":"card","platform":"d","active_tools":["e"],"host_app":"f",` +
		`"user_region":"US","user_language":"en","session_id":"g","seen":["h"],"turn":1,"first_ad_turn":2,` +
		`"turns_between_ads":3,"integration_method":"rest","consent":{"gpc":1},"suitability":{"age":"teen"}}`
	var got, want offer.Request
	require.True(t, read(body, &got))
	require.NoError(t, httpapi.Unmarshal([]byte(body), &want))
	require.Equal(t, want, got)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[offer.Request]()) {
		if f.IsExported() && f.Tag.Get("json") != "-" {
			require.False(t, reflect.ValueOf(got).FieldByIndex(f.Index).IsZero(), f.Name)
		}
	}
	for _, empty := range []string{`{"messages":[],"contents":[],"seen":[]}`, `{"seen":null}`} {
		got, want = offer.Request{}, offer.Request{}
		require.True(t, read(empty, &got))
		require.NoError(t, httpapi.Unmarshal([]byte(empty), &want))
		require.Equal(t, want, got)
	}
}

// FuzzAdRequest decodes and checks any body: it never panics, a refusal is one of the envelope's
// codes, and an accepted request keeps every limit.
func FuzzAdRequest(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		var in, plain offer.Request
		err := httpapi.Unmarshal(body, &in)
		if read(string(body), &plain) {
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
		require.True(t, strings.TrimSpace(in.Context) != "" || len(in.Messages) > 0)
		require.LessOrEqual(t, len(in.Messages), 32)
		require.LessOrEqual(t, utf8.RuneCountInString(in.Context), 2000)
		require.Contains(t, []string{"embed", "card", "text", "native", "banner"}, in.Format)
		require.Contains(t, []string{"", "card", "welcome", "buttons", "toolrec"}, in.Placement)
		require.LessOrEqual(t, len(in.ActiveTools), 64)
		for _, text := range append(
			slices.Clone(in.ActiveTools), in.Context, in.Platform, in.HostApp, in.UserRegion, in.UserLanguage,
			in.SessionID,
		) {
			require.True(t, utf8.ValidString(text))
			require.NotContains(t, text, "\x00")
		}
	})
}
