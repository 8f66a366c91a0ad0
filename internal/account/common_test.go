package account

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommonPasswords(t *testing.T) {
	for text, want := range map[string]bool{
		"passwordpassword": true, "Password1234": true, "P@ssw0rd1234": true, "123456789012": true,
		"qwertyuiop12": true, "qwerty123456": true,
		"1q2w3e4r5t6y": true, "iloveyou2024!": true, "aaaaaaaaaaaa": true, "abcabcabcabc": true, "businessbabe": true,
		"contortionist": true,
		"abcdefghijkl":  true, "000000000000": true, "!!!!letmein!!!!": true, "        password    ": true,
		"dragon dragon": false,
		"unbelievable":  true, "Elizabeth1990": true, "asdfghjklasdfghjkl": true, "zxcvbnm12345": true,
		"0987654321qwerty": true,
		"correct horse":    false, "long enough!": false, "adnet-demo-password": false, "a long password": false,
		"tr0ub4dor&3xyz":   false,
		"pässwörd für uns": false, "quiet harbour 71": false, "k9!vTq2#mZp7": false,
	} {
		got, err := isCommon(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	words, err := commonWords()
	require.NoError(t, err)
	require.Greater(t, len(words.hashes), 10_000)
}
