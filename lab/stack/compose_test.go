package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	compose "github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// TestComposeIsValid reads the compose files of installations and of `make stack` as Docker Compose
// does, with a value for each variable that they require, and without one of them.
func TestComposeIsValid(t *testing.T) {
	for file, services := range map[string][]string{
		"../../docker-compose.yml": {"ingress-1", "consumers-1"}, "compose.yml": everything(),
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var env []string
		for _, m := range regexp.MustCompile(`\$\{(ADNET_[A-Z0-9_]+):\?`).FindAllStringSubmatch(string(text), -1) {
			if setting := m[1] + "=1"; !slices.Contains(env, setting) {
				env = append(env, setting)
			}
		}
		require.NotEmpty(t, env)
		load := func(env []string) (*types.Project, error) {
			options, err := compose.NewProjectOptions([]string{file}, compose.WithName("adnet"), compose.WithEnv(env))
			require.NoError(t, err)
			return options.LoadProject(t.Context())
		}
		project, err := load(env)
		require.NoError(t, err, file)
		for _, service := range services {
			require.Contains(t, project.ServiceNames(), service)
		}
		for i := range env {
			_, err := load(slices.Delete(slices.Clone(env), i, i+1))
			require.Error(t, err, "%s without %s", file, env[i])
		}
	}
}
