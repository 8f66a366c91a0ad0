package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/token"
)

func TestInvite(t *testing.T) {
	now := time.Now()
	sessions := func() *token.Sessions {
		key, err := token.NewKey("k-1")
		require.NoError(t, err)
		s, err := token.NewSessions([]token.Key{key})
		require.NoError(t, err)
		return s
	}
	s := sessions()
	invite, err := s.Invite("A@example.com", now.Add(time.Hour))
	require.NoError(t, err)
	require.NoError(t, s.CheckInvite(invite, " a@Example.com", now))
	pasted := invite[:20] + "\r\n  " + strings.ReplaceAll(invite[20:], "-", "\u2011") + "\u200b"
	require.NoError(t, s.CheckInvite(pasted, "a@example.com", now))
	for name, err := range map[string]error{
		"another e-mail": s.CheckInvite(invite, "b@example.com", now),
		"expired":        s.CheckInvite(invite, "a@example.com", now.Add(time.Hour)),
		"cut":            s.CheckInvite(invite[:len(invite)-1], "a@example.com", now),
		"empty":          s.CheckInvite("", "a@example.com", now),
		"dots":           s.CheckInvite("..", "a@example.com", now),
		"another key":    sessions().CheckInvite(invite, "a@example.com", now),
	} {
		require.True(t, errs.Is(err, errs.Forbidden), name)
	}
}
