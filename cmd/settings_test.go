package cmd

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsDocumentIsCurrent(t *testing.T) {
	var want bytes.Buffer
	require.NoError(t, WriteSettings(&want))
	got, err := os.ReadFile("../docs/settings.md")
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "run: go generate ./cmd")
}
