package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"adnet/internal/account/typed"
	"adnet/internal/errs"
)

// Factor is an account's second factor: a secret from which its owner's device computes codes
// (TOTP, RFC 6238: SHA-1, 6 digits, 30 s), and recovery codes for a lost device.
type Factor struct {
	Sealed      []byte    // the secret, sealed; empty without a factor
	ConfirmedAt time.Time // UTC; zero until its owner has entered a code
	LastStep    int64     // step of the last accepted code; this code and older ones are not accepted again
	Recovery    [][32]byte
	// Wrong codes in a row of callers from networks that the account knows ([Asker]), and of others:
	// a thief of the password cannot make its owner wait at home.
	Known, Unknown Misses
}

// Misses counts wrong codes.
type Misses struct {
	Failures int       // in a row
	FailedAt time.Time // UTC, of the last of them
}

// On reports whether logins need the factor.
func (f *Factor) On() bool { return !f.ConfirmedAt.IsZero() }

// FactorStore stores second factors.
type FactorStore interface {
	// Factor returns the zero value for an account without a second factor.
	Factor(ctx context.Context, user uuid.UUID) (Factor, error)
	// UpdateFactor runs edit on the factor of a locked account. If edit fails, the factor is
	// unchanged. It returns errs.NotFound if the account does not exist.
	UpdateFactor(ctx context.Context, user uuid.UUID, edit func(*Factor) error) error
	// StrengthenSession records that a session has passed the second factor.
	StrengthenSession(ctx context.Context, user, id uuid.UUID) error
}

// Box seals the secrets of second factors, so that the database alone is not enough to compute
// codes. about identifies the account.
type Box interface {
	SealSecret(secret, about []byte) ([]byte, error)
	OpenSecret(sealed, about []byte, now time.Time) ([]byte, error)
}

const (
	codePeriod    = 30 // seconds
	codeSkew      = 1  // accepted steps before and after now: clocks differ
	secretSize    = 20 // bytes: the key size of HMAC-SHA-1
	recoveryCodes = 10
	recoverySize  = 10 // bytes: 80 bits, infeasible to guess
	// After freeFailures wrong codes in a row the next is accepted only after a wait, which
	// doubles.
	freeFailures = 5
	firstWait    = 15 * time.Minute
	longestWait  = 24 * time.Hour
)

var (
	secretText = base32.StdEncoding.WithPadding(base32.NoPadding)
	errCode    = errs.New(errs.InvalidCredentials, "the code is wrong or already used; wait for the next one")
	errNoCode  = errs.New(errs.SecondFactorRequired, "send code as well: from the app, or a recovery code")
)

// NewFactor is a second factor that its owner has not yet confirmed.
type NewFactor struct {
	Secret string // for typing, in base32
	URI    string // for scanning, an otpauth:// link
}

// Factor returns the second factor of u, the zero value without one.
func (s *Service) Factor(ctx context.Context, u User) (Factor, error) {
	return s.deps.Factors.Factor(ctx, u.ID)
}

// BeginFactor creates a secret for u to confirm. Errors: errs.Conflict if u has a second factor.
func (s *Service) BeginFactor(ctx context.Context, u User, issuer string) (NewFactor, error) {
	secret := make([]byte, secretSize)
	rand.Read(secret) // never fails: the runtime ends the process instead
	sealed, err := s.deps.Box.SealSecret(secret, u.ID[:])
	if err != nil {
		return NewFactor{}, err
	}
	err = s.deps.Factors.UpdateFactor(ctx, u.ID, func(f *Factor) error {
		if f.On() {
			return errs.New(errs.Conflict, "the account has a second factor; remove it first")
		}
		*f = Factor{Sealed: sealed, Known: f.Known, Unknown: f.Unknown}
		return nil
	})
	factor := NewFactor{Secret: secretText.EncodeToString(secret)}
	factor.URI = "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(u.Email) + "?issuer=" +
		url.PathEscape(issuer) + "&secret=" + factor.Secret
	return factor, err
}

// ConfirmFactor enables the second factor of u with its first code, ends the other sessions of u,
// which were opened without it, and returns the recovery codes. They are shown only once.
func (s *Service) ConfirmFactor(
	ctx context.Context, u User, session uuid.UUID, code string,
) (recovery []string, err error) {
	if err := s.checkCode(ctx, u, code, s.unconfirmed); err != nil {
		return nil, err
	}
	recovery, hashes := newRecovery()
	err = s.deps.Factors.UpdateFactor(ctx, u.ID, func(f *Factor) error {
		if err := s.unconfirmed(f); err != nil {
			return err
		}
		f.ConfirmedAt, f.Recovery = s.deps.Now().UTC(), hashes
		return nil
	})
	if err != nil {
		return nil, err
	}
	if session != uuid.Nil {
		if err := s.deps.Factors.StrengthenSession(ctx, u.ID, session); err != nil {
			return nil, err
		}
	}
	_, err = s.EndSessions(ctx, u, session)
	return recovery, err
}

func (s *Service) unconfirmed(f *Factor) error {
	switch {
	case f.On():
		return errs.New(errs.Conflict, "the second factor is already enabled")
	case len(f.Sealed) == 0:
		return errs.New(errs.InvalidState, "set up a second factor first: POST /api/account/second_factor")
	}
	return nil
}

// ShowFactor checks the code of a login. strong is false for an account without a second factor.
// Errors: errs.SecondFactorRequired without a code, errs.InvalidCredentials, errs.RateLimited.
func (s *Service) ShowFactor(ctx context.Context, u User, code string) (strong bool, err error) {
	f, err := s.deps.Factors.Factor(ctx, u.ID)
	if err != nil || !f.On() {
		return false, err
	}
	if typed.Code(code) == "" {
		return false, errNoCode
	}
	return true, s.checkCode(ctx, u, code, func(*Factor) error { return nil })
}

// RenewRecovery replaces the recovery codes of u, whose code was already checked. The old ones
// become invalid.
func (s *Service) RenewRecovery(ctx context.Context, u User) ([]string, error) {
	recovery, hashes := newRecovery()
	return recovery, s.deps.Factors.UpdateFactor(ctx, u.ID, func(f *Factor) error {
		if !f.On() {
			return errNoFactor
		}
		f.Recovery = hashes
		return nil
	})
}

var errNoFactor = errs.New(errs.InvalidState, "the account has no second factor")

// RemoveFactor removes the second factor of u. Errors: errs.InvalidState without one.
func (s *Service) RemoveFactor(ctx context.Context, u User) error {
	return s.deps.Factors.UpdateFactor(ctx, u.ID, func(f *Factor) error {
		if len(f.Sealed) == 0 {
			return errNoFactor
		}
		*f = Factor{}
		return nil
	})
}

// checkCode accepts a code once. The factor stays locked between read and write: of two logins with
// the same code, even on different nodes, one is rejected.
func (s *Service) checkCode(ctx context.Context, u User, code string, may func(*Factor) error) error {
	var refused error
	known := knownAsker(ctx)
	err := s.deps.Factors.UpdateFactor(ctx, u.ID, func(f *Factor) error {
		if err := may(f); err != nil {
			return err
		}
		refused = s.takeCode(u, f, entered{typed.Code(code), known})
		return nil // a failure is stored as well
	})
	if err != nil {
		return err
	}
	return refused
}

// entered is a code, and whether it came from a network that the account knows.
type entered struct {
	code  string
	known bool
}

func (s *Service) takeCode(u User, f *Factor, in entered) error {
	now, code, misses := s.deps.Now().UTC(), in.code, &f.Unknown
	if in.known {
		misses = &f.Known
	}
	if i := slices.Index(f.Recovery, recoveryHash(code)); i >= 0 {
		f.Recovery, misses.Failures = slices.Delete(slices.Clone(f.Recovery), i, i+1), 0
		return nil
	}
	// Six digits can be guessed, recovery codes cannot: only the former are limited.
	if wait := misses.wait(now); wait > 0 {
		return errs.New(
			errs.RateLimited, "too many wrong codes; wait, use a recovery code, or a mailed link for a new password, "+
				"which makes your network known",
		).With("retry_after", int(wait.Seconds())+1)
	}
	secret, err := s.deps.Box.OpenSecret(f.Sealed, u.ID[:], now)
	if err != nil {
		return errs.Wrap(
			err, errs.Unavailable,
			"the second factor cannot be decrypted; use a recovery code, or ask the operator: adnet user factor E-MAIL",
		)
	}
	step, ok := matching(secret, code, now)
	if !ok || step <= f.LastStep {
		misses.Failures, misses.FailedAt = misses.Failures+1, now
		return errCode
	}
	f.LastStep, misses.Failures = step, 0
	// Seal with the newest key, so that keys can be rotated.
	f.Sealed, err = s.deps.Box.SealSecret(secret, u.ID[:])
	return err
}

// wait returns how long no code is accepted after wrong codes.
func (m *Misses) wait(now time.Time) time.Duration {
	if m.Failures < freeFailures {
		return 0
	}
	wait := min(longestWait, firstWait<<min(m.Failures-freeFailures, 10))
	return max(0, m.FailedAt.Add(wait).Sub(now))
}

// matching returns the newest step near now that has this code.
func matching(secret []byte, code string, now time.Time) (step int64, ok bool) {
	at := now.Unix() / codePeriod
	for step := at + codeSkew; step >= at-codeSkew; step-- {
		want, err := hotp.GenerateCodeCustom(
			secretText.EncodeToString(secret), uint64(step),
			hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1},
		)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return step, true
		}
	}
	return 0, false
}

func newRecovery() (codes []string, hashes [][32]byte) {
	for range recoveryCodes {
		random := make([]byte, recoverySize)
		rand.Read(random) // never fails: the runtime ends the process instead
		text := strings.ToLower(secretText.EncodeToString(random))
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
		codes, hashes = append(codes, code), append(hashes, recoveryHash(code))
	}
	return codes, hashes
}

// recoveryHash returns the stored hash of a recovery code. The code is random, so a fast hash is
// enough.
func recoveryHash(code string) [32]byte {
	return sha256.Sum256([]byte(typed.Code(code)))
}
