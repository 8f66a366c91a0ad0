package token

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secretOf is a fixed secret, so that seeds and failures are the same in every run.
func secretOf(b byte) []byte { return bytes.Repeat([]byte{b}, MinSecret) }

func encoded(b byte) string { return base64.StdEncoding.EncodeToString(secretOf(b)) }

func mustKeys(t testing.TB, setting string) []Key {
	t.Helper()
	keys, err := ParseKeys(setting)
	require.NoError(t, err)
	return keys
}

func TestParseKeysReadsEveryAlphabet(t *testing.T) {
	secret := bytes.Repeat([]byte{0xfb, 0xff, 0xfe, 0x01}, 8)
	for _, enc := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		keys := mustKeys(t, " k2:"+enc.EncodeToString(secret)+" , k1:"+encoded(1)+"@2026-01-02T02:00:00+02:00")
		require.Len(t, keys, 2)
		require.Equal(t, secret, keys[0].secret)
		require.Zero(t, keys[0].NotAfter)
		require.Equal(t, "k1", keys[1].ID)
		require.Equal(t, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), keys[1].NotAfter)
	}
}

func TestParseKeysRefusesClearly(t *testing.T) {
	good := encoded(7)
	for setting, want := range map[string]string{
		"":                                       "no key",
		"  ":                                     "no key",
		good:                                     "expected id:base64",
		"k1:" + good + ",":                       "key 2 of 2",
		":" + good:                               "a key id consists of",
		"k 1:" + good:                            "a key id consists of",
		"../k:" + good:                           "a key id consists of",
		strings.Repeat("k", 17) + ":" + good:     "at most 16",
		"k1:" + good + "@tomorrow":               "2026-01-02T00:00:00Z",
		"k1:*" + good:                            "not base64",
		"k1:" + good[:20] + "\n" + good[20:]:     "line break",
		"k1:c2hvcnQ=":                            "has 5 bytes, at least 32",
		"k1:":                                    "has 0 bytes",
		"k1:" + good + "@2026-01-02T00:00:00Z":   "cannot have an end",
		"k1:" + good + ",k1:" + encoded(8):       "appears twice",
		"k1:" + good + ",k0:" + good:             "same secret",
		"k1:" + good + ",k0:" + encoded(8) + "@": "2026-01-02T00:00:00Z",
	} {
		_, err := ParseKeys(setting)
		require.ErrorContains(t, err, want, setting)
		require.NotContains(t, err.Error(), good[:8], "a secret in an error")
	}
}

func TestKeyNeverPrintsItsSecret(t *testing.T) {
	key := mustKeys(t, "k1:"+encoded(7))[0]
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "key", key, "keys", []Key{key})
	all := log.String() + fmt.Sprintf("%v %+v %#v %s %v", key, key, key, key, []Key{key})
	require.Contains(t, all, "key k1")
	for _, secret := range []string{encoded(7)[:8], string(secretOf(7))[:8], "7 7 7", "0x7, 0x7"} {
		require.NotContains(t, all, secret)
	}
}

func TestNewKeyIsRandom(t *testing.T) {
	a, err := NewKey("a")
	require.NoError(t, err)
	b, err := NewKey("b")
	require.NoError(t, err)
	require.NotEqual(t, a.secret, b.secret)
	_, err = NewKeyring([]Key{a, b})
	require.NoError(t, err)
	_, err = NewKey("a/b")
	require.Error(t, err)
}

func TestConstructorsCheckKeysToo(t *testing.T) {
	for _, keys := range [][]Key{nil, {{ID: "k1"}}, {{ID: "k 1", secret: secretOf(1)}}} {
		_, err := NewKeyring(keys)
		require.Error(t, err)
		_, err = NewSessions(keys)
		require.Error(t, err)
	}
}

func TestEachUseHasItsOwnKey(t *testing.T) {
	key := mustKeys(t, "k1:"+encoded(7))[0]
	seen := map[string]string{string(key.secret): "master"}
	for _, use := range []string{purposeUses[PurposeReport], purposeUses[PurposeBid], sessionUse} {
		derived, err := key.derive(use)
		require.NoError(t, err)
		require.Len(t, derived, 32)
		require.Empty(t, seen[string(derived)], "%s shares its key", use)
		seen[string(derived)] = use
	}
}
