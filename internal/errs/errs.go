// Package errs defines the error type of all adnet layers: a stable code for machines, a sentence
// for people and, if helpful, extra fields. The tables that map a code to an HTTP status, a
// JSON-RPC error or an OpenRTB no-bid live with the protocols (ingress/httpapi).
package errs

import (
	"errors"
	"fmt"
)

// Code identifies a kind of failure. The values are part of the protocol.
type Code string

// The codes of the specification (section Errors) and those that adnet adds.
const (
	InvalidRequest       Code = "invalid_request"
	MissingContext       Code = "missing_context"
	InsufficientCredit   Code = "insufficient_credit"
	InvalidState         Code = "invalid_state" // pause, resume, submit or review is not allowed in this state
	InvalidToken         Code = "invalid_token"
	InvalidCredentials   Code = "invalid_credentials"
	MissingAuthorization Code = "missing_authorization"
	Forbidden            Code = "forbidden"
	SecondFactorRequired Code = "second_factor_required" // a code is missing, or an administrator has no factor yet
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	Conflict             Code = "conflict"            // it already exists, or another call changed it
	PreconditionFailed   Code = "precondition_failed" // it is not the version that the caller named
	Retired              Code = "retired"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedEncoding  Code = "unsupported_encoding" // the Content-Encoding of a body
	RateLimited          Code = "rate_limited"
	DemoMode             Code = "demo_mode"
	Unavailable          Code = "unavailable" // a store or the log is unreachable; safe to retry
	UpstreamError        Code = "upstream_error"
	Internal             Code = "internal"

	InvalidIdempotencyKey Code = "invalid_idempotency_key"
	IdempotencyConflict   Code = "idempotency_conflict"    // the key was used for another request
	IdempotencyInProgress Code = "idempotency_in_progress" // the first call with the key is still running
)

// Error is a failure that may be shown to a caller: Message and Extra contain no internal details.
type Error struct {
	Code    Code
	Message string
	Extra   map[string]any // merged into the JSON envelope
	cause   error
}

// New returns an error whose message is shown to the caller.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap keeps cause for the log. The caller sees only code and message.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// With adds a field to the JSON envelope and returns e.
func (e *Error) With(name string, value any) *Error {
	if e.Extra == nil {
		e.Extra = make(map[string]any, 2)
	}
	e.Extra[name] = value
	return e
}

// At adds the field and the index of an item in its list, from 0, and returns e.
func (e *Error) At(field string, index int) *Error {
	return e.With("field", field).With("index", index)
}

// Error returns a text for logs: it includes the cause, which the caller never sees.
func (e *Error) Error() string {
	if e.cause != nil {
		return string(e.Code) + ": " + e.Message + ": " + e.cause.Error()
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap exposes the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// Of returns the [Error] in err's chain. Any other error is [Internal], whose message reveals
// nothing about it.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(err, Internal, "internal error")
}

// Is reports whether err carries code.
func Is(err error, code Code) bool { return err != nil && Of(err).Code == code }
