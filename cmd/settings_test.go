package cmd

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
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

// TestSecretsAreStated checks that each text setting with the name of a secret has the tag. A number
// is no secret, whatever its name.
func TestSecretsAreStated(t *testing.T) {
	named := regexp.MustCompile(`password|^key$|-keys?$|secret|-token$|^(postgres|clickhouse).*-url$`)
	secrets := 0
	for _, flag := range settings(t) {
		text := flag.Target.Kind() == reflect.String && !isFile(flag)
		require.Equal(t, text && named.MatchString(flag.Name), holdsSecret(flag), "--%s", flag.Name)
		if holdsSecret(flag) {
			secrets++
		}
	}
	require.Greater(t, secrets, 15)
}
