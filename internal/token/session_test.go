package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/errs"
)

func sessions(t testing.TB, setting string) *Sessions {
	t.Helper()
	s, err := NewSessions(mustKeys(t, setting))
	require.NoError(t, err)
	return s
}

var user = Claims{UserID: uuid.UUID{9}, SessionID: uuid.UUID{10}, Role: "advertiser", Email: "a@example.com", Version: 3}

func TestSessionRoundTrip(t *testing.T) {
	s := sessions(t, "s1:"+encoded(1))
	text, expiresIn, err := s.Issue(user, at)
	require.NoError(t, err)
	require.Equal(t, 2592000*time.Second, expiresIn)

	got, err := s.Verify(text, at)
	require.NoError(t, err)
	want := user
	want.IssuedAt = at.Truncate(time.Second)
	want.ExpiresAt = want.IssuedAt.Add(SessionLife)
	require.Equal(t, want, got)

	_, err = s.Verify(text, want.ExpiresAt.Add(-1))
	require.NoError(t, err)
	_, err = s.Verify(text, want.ExpiresAt.Add(time.Second))
	require.True(t, errs.Is(err, errs.InvalidToken))
	require.ErrorIs(t, err, jwt.ErrTokenExpired)
}

// The specification promises clients a standard JWT whose payload they can read.
func TestSessionPayloadOnTheWire(t *testing.T) {
	text, _, err := sessions(t, "s1:"+encoded(1)).Issue(user, at)
	require.NoError(t, err)
	parts := strings.Split(text, ".")
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	require.JSONEq(t, `{"alg":"HS256","typ":"JWT","kid":"s1"}`, string(header))
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	require.JSONEq(t, `{"sub":"09000000-0000-0000-0000-000000000000","role":"advertiser","email":"a@example.com",
		"ver":3,"jti":"0a000000-0000-0000-0000-000000000000","iss":"adnet","aud":["adnet"],"iat":1772600767,"exp":1775192767}`, string(payload))
}

func goodClaims() jwt.MapClaims {
	return jwt.MapClaims{
		"sub": user.UserID.String(), "jti": user.SessionID.String(), "role": "admin", "email": "a@example.com", "ver": 3,
		"iss": "adnet", "aud": "adnet", "iat": at.Unix(), "exp": at.Add(time.Hour).Unix(),
	}
}

func without(name string) jwt.MapClaims {
	c := goodClaims()
	delete(c, name)
	return c
}

func with(name string, value any) jwt.MapClaims {
	c := maps.Clone(goodClaims())
	c[name] = value
	return c
}

// forge signs with the real derived key, so that only the point under test is wrong.
func forge(t *testing.T, s *Sessions, method jwt.SigningMethod, kid any, claims jwt.Claims) string {
	t.Helper()
	unsigned := jwt.NewWithClaims(method, claims)
	if kid != nil {
		unsigned.Header["kid"] = kid
	}
	var key any = s.keys[0].derived
	switch method {
	case jwt.SigningMethodNone:
		key = jwt.UnsafeAllowNoneSignatureType
	case jwt.SigningMethodEdDSA:
		key = ed25519.NewKeyFromSeed(s.keys[0].derived)
	}
	text, err := unsigned.SignedString(key)
	require.NoError(t, err)
	return text
}

func TestSessionRefuses(t *testing.T) {
	s := sessions(t, "s1:"+encoded(1))
	hs256 := jwt.SigningMethodHS256
	good := forge(t, s, hs256, "s1", goodClaims())
	_, err := s.Verify(good, at)
	require.NoError(t, err, "the forged form itself must be good for this test to mean something")

	other := sessions(t, "s1:"+encoded(2))
	foreign, _, err := other.Issue(user, at)
	require.NoError(t, err)
	object, err := json.Marshal(map[string]any{"access_token": good, "expires_in": 2592000, "token_type": "Bearer"})
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	cases := map[string]string{
		"alg none":             forge(t, s, jwt.SigningMethodNone, "s1", goodClaims()),
		"HS384":                forge(t, s, jwt.SigningMethodHS384, "s1", goodClaims()),
		"HS512":                forge(t, s, jwt.SigningMethodHS512, "s1", goodClaims()),
		"EdDSA":                forge(t, s, jwt.SigningMethodEdDSA, "s1", goodClaims()),
		"unknown kid":          forge(t, s, hs256, "s2", goodClaims()),
		"kid like a path":      forge(t, s, hs256, "../../dev/null", goodClaims()),
		"kid of another type":  forge(t, s, hs256, 1, goodClaims()),
		"empty kid":            forge(t, s, hs256, "", goodClaims()),
		"no kid":               forge(t, s, hs256, nil, goodClaims()),
		"no exp":               forge(t, s, hs256, "s1", without("exp")),
		"expired":              forge(t, s, hs256, "s1", with("exp", at.Unix()-1)),
		"not yet valid":        forge(t, s, hs256, "s1", with("nbf", at.Unix()+60)),
		"wrong aud":            forge(t, s, hs256, "s1", with("aud", "other")),
		"no aud":               forge(t, s, hs256, "s1", without("aud")),
		"wrong iss":            forge(t, s, hs256, "s1", with("iss", "other")),
		"no iss":               forge(t, s, hs256, "s1", without("iss")),
		"no sub":               forge(t, s, hs256, "s1", without("sub")),
		"sub is no uuid":       forge(t, s, hs256, "s1", with("sub", "root")),
		"no jti":               forge(t, s, hs256, "s1", without("jti")),
		"jti is no uuid":       forge(t, s, hs256, "s1", with("jti", "7")),
		"no ver":               forge(t, s, hs256, "s1", without("ver")),
		"no iat":               forge(t, s, hs256, "s1", without("iat")),
		"other secret":         foreign,
		"whole session object": string(object),
		"garbage":              "garbage",
		"empty":                "",
		"bearer word":          "Bearer " + good,
		"two parts":            parts[0] + "." + parts[1],
		"four parts":           good + ".",
		"no signature":         parts[0] + "." + parts[1] + ".",
		"padding":              good + "=",
		"line break at end":    good + "\n",
		"line break inside":    good[:len(good)-5] + "\r\n" + good[len(good)-5:],
		"1 MiB of dots":        strings.Repeat(".", 1<<20),
		"1 MiB of text":        strings.Repeat("A", 1<<20) + ".A.A",
	}
	for name, text := range cases {
		got, err := s.Verify(text, at)
		require.Error(t, err, name)
		require.Equal(t, errs.InvalidToken, errs.Of(err).Code, name)
		require.Zero(t, got, name)
	}
}

func TestEveryChangeOfASessionCharacterIsRefused(t *testing.T) {
	s := sessions(t, "s1:"+encoded(1))
	text, _, err := s.Issue(user, at)
	require.NoError(t, err)
	for i := range len(text) {
		for _, c := range alphabet + ".=\n " {
			if byte(c) == text[i] {
				continue
			}
			_, err := s.Verify(text[:i]+string(c)+text[i+1:], at)
			require.Error(t, err, "%d → %q", i, c)
		}
	}
}

func TestSessionKeysRotate(t *testing.T) {
	text, _, err := sessions(t, "s1:"+encoded(1)).Issue(user, at)
	require.NoError(t, err)
	end := at.Add(time.Hour)
	rotated := sessions(t, "s2:"+encoded(2)+",s1:"+encoded(1)+"@"+end.Format(time.RFC3339Nano))
	_, err = rotated.Verify(text, end)
	require.NoError(t, err)
	_, err = rotated.Verify(text, end.Add(1))
	require.ErrorIs(t, err, ErrKeyExpired)
	require.True(t, errs.Is(err, errs.InvalidToken))
}

func TestIssueRefusesWhatVerifyWould(t *testing.T) {
	s := sessions(t, "s1:"+encoded(1))
	long := user
	long.Email = strings.Repeat("x", MaxSessionLen)
	_, _, err := s.Issue(long, at)
	require.Error(t, err)

	rapid.Check(t, func(t *rapid.T) {
		c := Claims{UserID: user.UserID, Role: rapid.StringN(0, -1, 20).Draw(t, "role"),
			Email:   rapid.StringN(0, -1, 254).Draw(t, "email"),
			Version: rapid.Int64().Draw(t, "version")}
		text, _, err := s.Issue(c, at)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got, err := s.Verify(text, at)
		if err != nil || got.Role != c.Role || got.Email != c.Email || got.Version != c.Version {
			t.Fatalf("%+v → %+v, %v", c, got, err)
		}
	})
}

func FuzzSession(f *testing.F) {
	s := sessions(f, "s1:"+encoded(1))
	text, _, err := s.Issue(user, at)
	require.NoError(f, err)
	f.Add(text)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, candidate string) {
		if _, err := s.Verify(candidate, at); err == nil && candidate != text {
			t.Fatalf("%q verifies", candidate)
		}
	})
}
