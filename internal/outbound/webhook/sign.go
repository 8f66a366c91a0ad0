package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adnet/internal/outbound/outbox"
)

// Secret is the key that signs an endpoint's messages: whsec_ and the base64 form of 32 bytes.
type Secret string

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret returns a random secret.
func NewSecret() Secret {
	key := make([]byte, secretBytes)
	rand.Read(key) // never fails: the runtime ends the process instead
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(key))
}

// key returns the bytes of the secret.
func (s Secret) key() ([]byte, error) {
	text, is := strings.CutPrefix(string(s), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !is || err != nil || len(key) == 0 {
		return nil, errors.New("a stored secret of a webhook is damaged: rotate it")
	}
	return key, nil
}

// String hides the secret from logs and errors.
func (s Secret) String() string { return secretPrefix + "…" }

// Sign returns the headers of an attempt to deliver m at a time, by the convention of Standard
// Webhooks: the signature covers id, time of the attempt and body, so a receiver detects changed
// and old messages. Each secret adds a signature, separated by spaces.
func Sign(m *outbox.Message, at time.Time, secrets []Secret) (http.Header, error) {
	id, stamp := m.ID.String(), strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(m.Payload)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "adnet-webhooks")
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
	return h, nil
}

// hostOf returns the host of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}
