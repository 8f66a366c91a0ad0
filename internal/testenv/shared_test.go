package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedIsBesideTheRepository(t *testing.T) {
	repository := filepath.Join(t.TempDir(), "adnet")
	deep := filepath.Join(repository, "ingress", "rtb")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(repository, "go.work"), nil, 0o600))
	t.Chdir(deep)

	t.Setenv("ADNET_SHARED", "")
	r := record(t, func(t testing.TB) { Shared(t, "data/some.jsonl") })
	require.Empty(t, r.failed)
	require.Contains(t, r.skipped, filepath.Join("shared", "data", "some.jsonl")+" is absent")

	t.Setenv("ADNET_SHARED", "required")
	r = record(t, func(t testing.TB) { Shared(t, "data/some.jsonl") })
	require.Empty(t, r.skipped)
	require.Contains(t, r.failed, "ADNET_SHARED=required")

	data := filepath.Join(repository, "..", "shared", "data")
	require.NoError(t, os.MkdirAll(data, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(data, "some.jsonl"), []byte("x"), 0o600))
	raw, err := os.ReadFile(Shared(t, "data/some.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "x", string(raw))
}
