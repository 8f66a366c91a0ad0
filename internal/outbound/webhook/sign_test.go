package webhook

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/outbound/outbox"
)

// The secret, time and body are those of the specification of Standard Webhooks, the id is ours.
func TestSignature(t *testing.T) {
	m := outbox.Message{
		ID: uuid.MustParse("0197a5f0-0000-7000-8000-000000000001"), Payload: []byte(`{"test": 2432232314}`),
	}
	at := time.Unix(1_614_265_330, 0)
	first, second := Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), NewSecret()
	h, err := Sign(&m, at, []Secret{first})
	require.NoError(t, err)
	require.Equal(t, "1614265330", h.Get("webhook-timestamp"))
	require.Equal(t, m.ID.String(), h.Get("webhook-id"))
	require.Equal(t, "v1,UBDvWFBvWZYvZ9sKM5cr04wNBQfg5wsCm3/4wlz9F8c=", h.Get("webhook-signature"))
	both, err := Sign(&m, at, []Secret{second, first})
	require.NoError(t, err)
	require.Regexp(t, `^v1,[^ ]{44} v1,UBDvWFBvWZYvZ9sKM5cr04wNBQfg5wsCm3/4wlz9F8c=$`, both.Get("webhook-signature"))
	for _, damaged := range []Secret{"", "whsec_", "whsec_%", "x"} {
		_, err := Sign(&m, at, []Secret{damaged})
		require.Error(t, err)
	}
}

func TestSecretsAreRandomAndHidden(t *testing.T) {
	a, b := NewSecret(), NewSecret()
	require.NotEqual(t, a, b)
	key, err := base64.StdEncoding.DecodeString(string(a)[len("whsec_"):])
	require.NoError(t, err)
	require.Len(t, key, 32)
	require.Equal(t, "whsec_…", fmt.Sprint(a))
	require.NotContains(t, fmt.Sprintf("%v %s", Endpoint{Secret: a}, a), string(a))
}

func TestRotationOverlapsForADay(t *testing.T) {
	at := time.Unix(1_614_265_330, 0)
	e := Endpoint{Secret: "whsec_a"}
	require.Equal(t, []Secret{"whsec_a"}, e.Secrets(at))
	e.Rotate("whsec_b", at)
	require.Equal(t, []Secret{"whsec_b", "whsec_a"}, e.Secrets(at.Add(24*time.Hour-1)))
	require.Equal(t, []Secret{"whsec_b"}, e.Secrets(at.Add(24*time.Hour)))
	e.Rotate("whsec_c", at)
	require.Equal(t, []Secret{"whsec_c", "whsec_b"}, e.Secrets(at), "a leaked secret is gone after two rotations")
}
