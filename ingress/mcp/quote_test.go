package mcp

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A JSON text becomes the same string as by the general way.
func TestAppendQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOf(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`["\\/\n\t <>&\x00\x7f  ]*`),
		)).Draw(t, "value")
		text, err := json.Marshal(value)
		require.NoError(t, err)
		want, err := jsontext.AppendQuote([]byte("x"), text)
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendQuoted([]byte("x"), text)))
	})
}
