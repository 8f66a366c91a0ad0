package account

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGenerateKeyRoundTrip(t *testing.T) {
	for kind, prefix := range map[KeyKind]string{
		KindPublisher: "pub_live_", KindSeat: "seat_live_", KindSeatPath: "seatpath_live_", KindBrowser: "pk_live_",
	} {
		plain, material, err := GenerateKey(kind)
		require.NoError(t, err)
		require.Regexp(t, "^"+prefix+"[0-9A-Za-z]{36}$", plain)
		require.True(t, strings.HasPrefix(plain, material.Prefix))
		require.Len(t, material.Prefix, len(prefix)+4)
		require.Equal(t, sha256.Sum256([]byte(plain)), material.Hash)
		require.False(t, IsSandbox(plain))

		gotKind, hash, err := ParseKey(plain)
		require.NoError(t, err)
		require.Equal(t, kind, gotKind)
		require.Equal(t, material.Hash, hash)
	}
	_, _, err := GenerateKey("admin")
	require.Error(t, err)
}

func TestSandboxKeys(t *testing.T) {
	plain, material := issueKey(prefixTest)
	kind, hash, err := ParseKey(plain)
	require.NoError(t, err)
	require.Equal(t, KindPublisher, kind)
	require.Equal(t, material.Hash, hash)
	for _, key := range []string{
		plain, PublicSandboxKey, "sk_test_", "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "pub_test_x",
	} {
		require.True(t, IsSandbox(key), key)
	}
	for _, key := range []string{"", "pub_live_x", "seat_test_x", "PUB_TEST_x", " pub_test_x", "sk_tes"} {
		require.False(t, IsSandbox(key), key)
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := make(map[string]bool)
	digits := make(map[byte]bool)
	for range 500 {
		plain, _, err := GenerateKey(KindPublisher)
		require.NoError(t, err)
		require.False(t, seen[plain])
		seen[plain] = true
		for _, c := range []byte(plain[len(prefixPublisher):]) {
			digits[c] = true
		}
	}
	require.Len(t, digits, 62, "some digit never occurs")
}

func TestEveryChangeOfAKeyIsRefused(t *testing.T) {
	for _, kind := range []KeyKind{KindPublisher, KindSeat} {
		plain, _, err := GenerateKey(kind)
		require.NoError(t, err)
		for i := range len(plain) {
			for c := range 256 {
				if byte(c) == plain[i] {
					continue
				}
				_, hash, err := ParseKey(plain[:i] + string([]byte{byte(c)}) + plain[i+1:])
				require.ErrorIs(t, err, ErrKeyFormat, "%d → %q", i, byte(c))
				require.Zero(t, hash)
			}
			_, _, err := ParseKey(plain[:i])
			require.ErrorIs(t, err, ErrKeyFormat)
		}
		for i := range len(plain) - 1 {
			swapped := []byte(plain)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			if string(swapped) == plain {
				continue
			}
			_, _, err := ParseKey(string(swapped))
			require.ErrorIs(t, err, ErrKeyFormat, "swap at %d", i)
		}
		for _, text := range []string{
			plain + "0", plain + "\n", " " + plain, strings.Repeat(plain, 1000), "Bearer " + plain,
		} {
			_, _, err := ParseKey(text)
			require.ErrorIs(t, err, ErrKeyFormat)
		}
	}
}

func TestParseKeyAcceptsOnlyGeneratedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{
			"", "pub_", prefixPublisher, prefixSeat, prefixTest, prefixOtherTest,
		}).Draw(t, "prefix")
		body := prefix + rapid.StringMatching("[0-9A-Za-z]{29,31}").Draw(t, "body")
		_, _, err := ParseKey(body + checksum(body))
		issued := (prefix == prefixPublisher || prefix == prefixSeat || prefix == prefixTest) &&
			len(body) == len(prefix)+keyRandom
		if issued != (err == nil) {
			t.Fatalf("%q: %v", body, err)
		}
	})
}
