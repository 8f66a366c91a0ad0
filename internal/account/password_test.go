package account

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/errs"
)

func TestPasswordRoundTrip(t *testing.T) {
	ctx := t.Context()
	for _, password := range []string{"correct horse", "ü\x00\xff", strings.Repeat("x", MaxPassword)} {
		phc, err := HashPassword(ctx, password)
		require.NoError(t, err)
		require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, phc)
		for candidate, want := range map[string]bool{
			password: true, password[1:]: false, password + "x": false, "": false,
		} {
			ok, err := VerifyPassword(ctx, phc, candidate)
			require.NoError(t, err)
			require.Equal(t, want, ok)
		}
	}
}

// A password typed on another keyboard or system is the same password. Marks, case and other
// letters make another one.
func TestPasswordsOfEveryKeyboard(t *testing.T) {
	chosen := "größe é\u00a0한 words"
	phc, err := HashPassword(t.Context(), chosen)
	require.NoError(t, err)
	for candidate, want := range map[string]bool{
		norm.NFD.String(chosen): true,
		"größe é 한 words":       true,
		"größe é\u3000한 words":  true,
		"grösse é 한 words":      false,
		"große é 한 words":       false,
		"größe é한 words":        false,
		"Größe é 한 words":       false,
		"größe é 한 ｗords":       false,
		"größe é\u200b 한 words": false,
		"größe é 한 words\xff":   false,
	} {
		ok, err := VerifyPassword(t.Context(), phc, candidate)
		require.NoError(t, err)
		require.Equal(t, want, ok, "%+q", candidate)
	}
}

func TestSamePasswordHashesDifferently(t *testing.T) {
	a, err := HashPassword(t.Context(), "secret")
	require.NoError(t, err)
	b, err := HashPassword(t.Context(), "secret")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
}

// A vector made by the reference implementation of Argon2: other systems' hashes verify here.
func TestVerifiesAForeignHash(t *testing.T) {
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	ok, err := VerifyPassword(t.Context(), phc, "password")
	require.NoError(t, err)
	require.True(t, ok)
}

func TestVerifyRejectsInvalidHashes(t *testing.T) {
	const salt, key = "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, phc := range []string{
		"", "secret", "$2a$10$abcdefghijklmnopqrstuv", "$argon2i$v=19$m=64,t=2,p=1$" + salt + "$" + key,
		"$argon2id$v=16$m=64,t=2,p=1$" + salt + "$" + key, "$argon2id$v=19$m=64,t=2$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=2,p=1,x=1$" + salt + "$" + key, "$argon2id$v=19$m=064,t=2,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=4294967295,t=2,p=1$" + salt + "$" + key, "$argon2id$v=19$m=64,t=99,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key, "$argon2id$v=19$m=64,t=2,p=0$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=2,p=1$$" + key, "$argon2id$v=19$m=64,t=2,p=1$" + salt + "$",
		"$argon2id$v=19$m=64,t=2,p=1$" + salt + "$" + key + "$", "$argon2id$v=19$m=64,t=2,p=1$" + salt + "=$" + key,
	} {
		ok, err := VerifyPassword(t.Context(), phc, "password")
		require.ErrorIs(t, err, ErrPasswordHash, phc)
		require.False(t, ok)
	}
}

// Without a slot all three wait, which proves that all three, VerifyAbsent included, do their work
// in one.
func TestHashesWaitForACore(t *testing.T) {
	phc, err := HashPassword(t.Context(), "secret")
	require.NoError(t, err)
	require.Equal(t, max(1, runtime.GOMAXPROCS(0)-1), hashingSlots, "one core is left to ad requests")
	for range hashingSlots {
		require.True(t, hashing.take(""), "a slot was not given back")
	}
	require.False(t, hashing.take(""), "more slots than cores")

	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = HashPassword(late, "secret")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = VerifyPassword(late, phc, "secret")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, VerifyAbsent(late, "secret"), context.DeadlineExceeded)
	require.Zero(t, hashing.waits(), "who left keeps no place")

	var all sync.WaitGroup
	results := make([]error, hashPlaces)
	for i := range results {
		all.Go(func() {
			ok, err := VerifyPassword(t.Context(), phc, "secret")
			if err == nil && !ok {
				err = fmt.Errorf("hash %d does not match", i)
			}
			results[i] = err
		})
	}
	require.Eventually(t, func() bool { return hashing.waits() == hashPlaces }, time.Minute, time.Millisecond)
	_, err = HashPassword(t.Context(), "secret")
	require.True(t, errs.Is(err, errs.RateLimited), "the queue is full")
	require.Equal(t, 1, errs.Of(err).Extra["retry_after"])
	for range hashingSlots {
		hashing.release()
	}
	all.Wait()
	for _, err := range results {
		require.NoError(t, err)
	}
	require.NoError(t, VerifyAbsent(t.Context(), "secret"))
	require.Equal(t, hashingSlots, hashing.free, "a slot was not given back")
}

// An unknown e-mail must take as long as a known one; compare the two.
func BenchmarkVerifyPassword(b *testing.B) {
	phc, err := HashPassword(b.Context(), "secret")
	require.NoError(b, err)
	for b.Loop() {
		_, err := VerifyPassword(b.Context(), phc, "wrong")
		require.NoError(b, err)
	}
}

func BenchmarkVerifyAbsent(b *testing.B) {
	for b.Loop() {
		require.NoError(b, VerifyAbsent(b.Context(), "wrong"))
	}
}

func FuzzParsePHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Add("$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parsePHC(text)
		if err != nil {
			require.ErrorIs(t, err, ErrPasswordHash)
			return
		}
		require.LessOrEqual(t, h.memory, uint32(argonMaxMemory))
		require.NotZero(t, h.threads)
		require.NotZero(t, h.time)
	})
}
