package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"adnet/internal/errs"
)

// statusOf maps error codes to HTTP statuses (specification, section Errors).
var statusOf = map[errs.Code]int{
	errs.InvalidRequest:       http.StatusBadRequest,
	errs.MissingContext:       http.StatusBadRequest,
	errs.InsufficientCredit:   http.StatusBadRequest,
	errs.InvalidState:         http.StatusBadRequest,
	errs.InvalidToken:         http.StatusUnauthorized,
	errs.InvalidCredentials:   http.StatusUnauthorized,
	errs.MissingAuthorization: http.StatusUnauthorized,
	errs.Forbidden:            http.StatusForbidden,
	errs.SecondFactorRequired: http.StatusForbidden,
	errs.NotFound:             http.StatusNotFound,
	errs.MethodNotAllowed:     http.StatusMethodNotAllowed,
	errs.Conflict:             http.StatusConflict,
	errs.Retired:              http.StatusGone,
	errs.PreconditionFailed:   http.StatusPreconditionFailed,
	errs.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	errs.UnsupportedEncoding:  http.StatusUnsupportedMediaType,
	errs.RateLimited:          http.StatusTooManyRequests,
	errs.DemoMode:             http.StatusServiceUnavailable,
	errs.Unavailable:          http.StatusServiceUnavailable,
	errs.UpstreamError:        http.StatusBadGateway,
	errs.Internal:             http.StatusInternalServerError,

	errs.InvalidIdempotencyKey: http.StatusBadRequest,
	errs.IdempotencyConflict:   http.StatusConflict,
	errs.IdempotencyInProgress: http.StatusConflict,
}

// Status returns the HTTP status of a code; unknown codes are 500.
func Status(code errs.Code) int {
	if status, ok := statusOf[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// retryAfter is the extra field that also becomes the Retry-After header, in whole seconds.
const retryAfter = "retry_after"

// RetryAfter adds to e the seconds to wait before a retry.
func RetryAfter(e *errs.Error, seconds int) *errs.Error { return e.With(retryAfter, seconds) }

// ErrorForm writes the answer to a request that failed with e and the given HTTP status.
// Retry-After and WWW-Authenticate are set already. The default form is [WriteError].
type ErrorForm func(c *gin.Context, e *errs.Error, status int) error

// timed returns e with the seconds to wait before a retry, if it lacks them and its status is 429: a
// client without them retries at once.
func timed(e *errs.Error) *errs.Error {
	if _, has := e.Extra[retryAfter].(int); has || e.Code != errs.RateLimited {
		return e
	}
	with := *e // e may be shared
	with.Extra = maps.Clone(e.Extra)
	return RetryAfter(&with, 1)
}

func (s *Server) fail(c *gin.Context, err error) {
	e := timed(errs.Of(err))
	status := Status(e.Code)
	gone := errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil
	if status >= http.StatusInternalServerError && !gone {
		// Logged only here; handlers return their errors. A client that left is not a failure.
		s.log.Error(
			c.Request.Context(), "request failed", "code", string(e.Code), "route", of(c).route(), "error", err.Error(),
		)
	}
	if seconds, ok := e.Extra[retryAfter].(int); ok {
		c.Header("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="adnet"`)
	}
	form := WriteError
	if at := of(c).site; at != nil && at.form != nil {
		form = at.form
	}
	if err := form(c, e, status); err != nil {
		c.Status(http.StatusInternalServerError)
	}
}

// WriteError answers with the envelope {error, code, ...extra} of the specification.
func WriteError(c *gin.Context, e *errs.Error, status int) error {
	return JSON(c, status, envelope(e))
}

func envelope(e *errs.Error) map[string]any {
	body := make(map[string]any, len(e.Extra)+2)
	for name, value := range e.Extra {
		body[name] = value
	}
	body["error"], body["code"] = e.Message, string(e.Code)
	return body
}

func noSuchPath(*gin.Context) error { return errs.New(errs.NotFound, "no such path") }

func methodNotAllowed(c *gin.Context) error {
	r := of(c)
	allowed := r.site.allow
	return errs.New(
		errs.MethodNotAllowed, "method %s is not allowed here; use %s", r.method, allowed,
	).With("allow", allowed)
}
