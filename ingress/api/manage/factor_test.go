package manage_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
)

// codeAt is what an authenticator app shows.
func codeAt(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	require.NoError(t, err)
	return code
}

// factor turns p's second factor on.
func (p *person) factor(t *testing.T) (secret string, recovery []any) {
	t.Helper()
	begun := p.Post(t, "/api/account/second_factor", object{"password": "correct horse"}).As(200)
	secret = begun["secret"].(string)
	require.Contains(t, begun["uri"], "otpauth://totp/adnet:a@example.com?issuer=adnet&secret="+secret)
	rows := begun["qr"].([]any)
	require.Len(t, rows[0], len(rows), "a square")
	on := p.Post(t, "/api/account/second_factor/confirm", object{"code": codeAt(t, secret, p.World.Now)}).As(200)
	return secret, on["recovery_codes"].([]any)
}

func (w *world) tries(t *testing.T, code string) reply {
	t.Helper()
	return w.nobody().Post(t, "/api/auth", object{"email": "a@example.com", "password": "correct horse", "code": code})
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	thief := w.login(t, "a@example.com", "correct horse")
	thief.Post(t, "/api/account/second_factor", object{"password": "wrong horse"}).Fails(401, "invalid_credentials")
	p.Post(t, "/api/account/second_factor/confirm", object{"code": "123456"}).Fails(400, "invalid_state")
	p.Post(
		t, "/api/account/second_factor/remove", object{"password": "correct horse", "code": "123456"},
	).Fails(400, "invalid_state")
	require.Equal(t, false, p.Get(t, "/api/account/second_factor").As(200)["enabled"])
	secret, recovery := p.factor(t)
	require.Len(t, recovery, 10)
	require.Equal(t, true, p.Get(t, "/api/account/second_factor").As(200)["enabled"])
	w.Now = w.Now.Add(2 * time.Second)
	thief.Get(t, "/api/keys").Fails(401, "invalid_token") // what the password alone opened
	require.Equal(t, true, at(p.sessions(t), 0, "second_factor"))
	p.Post(t, "/api/account/second_factor", object{"password": "correct horse"}).Fails(409, "conflict")

	w.tries(t, "").Fails(403, "second_factor_required")
	w.nobody().Post(
		t, "/api/auth", object{"email": "a@example.com", "password": "wrong horse"},
	).Fails(401, "invalid_credentials")
	w.tries(t, codeAt(t, secret, w.Now)).Fails(401, "invalid_credentials") // it confirmed the factor
	w.Now = w.Now.Add(30 * time.Second)
	w.tries(t, codeAt(t, secret, w.Now)).As(200)
	w.tries(t, codeAt(t, secret, w.Now.Add(-30*time.Second))).Fails(401, "invalid_credentials")
	w.tries(t, strings.ToUpper(recovery[0].(string))).As(200)
	w.tries(t, recovery[0].(string)).Fails(401, "invalid_credentials")
	require.EqualValues(t, 9, p.Get(t, "/api/account/second_factor").As(200)["recovery_codes_left"])

	renewed := p.Post(
		t, "/api/account/second_factor/recovery_codes", object{"password": "correct horse", "code": recovery[1]},
	).As(200)["recovery_codes"].([]any)
	w.tries(t, recovery[2].(string)).Fails(401, "invalid_credentials")
	p.Post(
		t, "/api/account/second_factor/remove", object{"password": "correct horse"},
	).Fails(403, "second_factor_required")
	p.Post(t, "/api/account/second_factor/remove", object{"password": "correct horse", "code": renewed[0]}).As(200)
	w.tries(t, "").As(200)
	log := p.Get(t, "/api/audit").Text
	require.Contains(t, log, `"second_factor"`)
	require.NotContains(t, log, secret)
	require.NotContains(t, log, renewed[1].(string))
}

// A code is the same in the digits, dashes and spaces of every keyboard, for a login, a
// confirmation and a recovery code.
func TestCodesOfEveryKeyboard(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	secret := p.Post(t, "/api/account/second_factor", object{"password": "correct horse"}).As(200)["secret"].(string)
	written := func(zero rune, between string) string {
		code := codeAt(t, secret, w.Now)
		digits := []rune(code)
		for i := range digits {
			digits[i] += zero - '0'
		}
		return string(digits[:3]) + between + string(digits[3:])
	}
	on := p.Post(t, "/api/account/second_factor/confirm", object{"code": written('０', "\u3000")}).As(200)
	for _, zero := range []rune{'0', '０', '\u0660', '\u06f0', '\u0966', '\u0e50', '\U0001d7ce'} {
		for _, between := range []string{"\u00a0", "\u2009", "-", "\u2212", "\u200b", " \u2013 "} {
			w.Now = w.Now.Add(30 * time.Second)
			w.tries(t, written(zero, between)).As(200)
			w.tries(t, codeAt(t, secret, w.Now)).Fails(401, "invalid_credentials") // already used
			w.tries(t, codeAt(t, secret, w.Now.Add(30*time.Second))).As(200)
			w.Now = w.Now.Add(30 * time.Second)
		}
	}
	w.tries(t, " \u200b").Fails(403, "second_factor_required")
	for i, dash := range []string{"\u2013", "\u2011", " ", "", "－"} {
		code := on["recovery_codes"].([]any)[i].(string)
		w.tries(t, strings.ReplaceAll(code, "-", dash)).As(200)
		w.tries(t, code).Fails(401, "invalid_credentials")
	}
	w.tries(t, strings.Repeat("1", 257)).Fails(400, "invalid_request")
}

// Of several concurrent logins with one code only one succeeds.
func TestACodeWorksOnce(t *testing.T) {
	w := newWorld(t)
	secret, _ := w.member(t, "a@example.com").factor(t)
	w.Now = w.Now.Add(time.Minute)
	code := codeAt(t, secret, w.Now)
	var in atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if w.tries(t, code).Code == 200 {
				in.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, in.Load())
}

// An attacker with the password has five guesses of a code, then waits. The owner's recovery codes
// always work.
func TestGuessedCodes(t *testing.T) {
	w := newWorld(t)
	secret, recovery := w.member(t, "a@example.com").factor(t)
	w.Now = w.Now.Add(time.Minute)
	good := codeAt(t, secret, w.Now)
	wrong := "000000"
	if good == wrong {
		wrong = "000001"
	}
	for range 5 {
		w.tries(t, wrong).Fails(401, "invalid_credentials")
	}
	got := w.tries(t, good).Fails(429, "rate_limited")
	require.Positive(t, got["retry_after"])
	w.tries(t, recovery[0].(string)).As(200)
	for range 5 {
		w.tries(t, wrong).Fails(401, "invalid_credentials")
	}
	w.Now = w.Now.Add(16 * time.Minute)
	w.tries(t, wrong).Fails(401, "invalid_credentials")
	w.Now = w.Now.Add(16 * time.Minute)
	w.tries(t, codeAt(t, secret, w.Now)).Fails(429, "rate_limited") // the wait doubles
	w.Now = w.Now.Add(16 * time.Minute)
	w.tries(t, codeAt(t, secret, w.Now)).As(200)
}

// A thief of the password cannot make its owner wait: wrong codes from elsewhere count apart from those
// of the networks that the account knows.
func TestWrongCodesOfStrangersLockNoOwner(t *testing.T) {
	w := newWorld(t)
	p := w.member(t, "a@example.com")
	secret, _ := p.factor(t)
	login := func(address, code string) int {
		r := ingresstest.Request(
			"POST", "/api/auth", `{"email":"a@example.com","password":"correct horse","code":"`+code+`"}`,
		)
		r.RemoteAddr = address + ":1"
		return w.Send(t, r).Code
	}
	const home, elsewhere = "192.0.2.1", "203.0.113.1"
	w.Now = w.Now.Add(30 * time.Second)
	require.Equal(t, 200, login(home, codeAt(t, secret, w.Now)))
	wrong := func(address string) (last int) {
		for range 6 {
			last = login(address, "000000")
		}
		return last
	}
	require.Equal(t, 429, wrong(elsewhere))
	w.Now = w.Now.Add(30 * time.Second)
	require.Equal(t, 429, login(elsewhere, codeAt(t, secret, w.Now)))
	require.Equal(t, 200, login(home, codeAt(t, secret, w.Now)))
	require.Equal(t, 429, wrong(elsewhere), "the owner's login gives strangers no further guess")
	require.Equal(t, 429, wrong(home), "guesses at home are few as well")
}
