// Package obs makes adnet observable: structured logs with request ids, readiness, and the admin
// listener with health, metrics and profiles.
//
// Contract: no money depends on this package. A log line may be dropped (see [Limited]), and a
// metric may be lost with the process. Nothing here is global: the wiring passes loggers,
// registries and readiness as values.
package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// NewLogger returns a logger that writes lines to w and adds the request id of the context (see
// [Identify]) to every line as request_id. format is "json" or "text"; level is "debug", "info",
// "warn" or "error". Times are UTC. Any other format or level is an error.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	switch strings.ToLower(level) {
	case "debug":
		least = slog.LevelDebug
	case "info":
		least = slog.LevelInfo
	case "warn":
		least = slog.LevelWarn
	case "error":
		least = slog.LevelError
	default:
		return nil, fmt.Errorf("log level %q: expected debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: utc}
	switch strings.ToLower(format) {
	case "json":
		return slog.New(WithContextAttrs(slog.NewJSONHandler(w, options))), nil
	case "text":
		return slog.New(WithContextAttrs(slog.NewTextHandler(w, options))), nil
	default:
		return nil, fmt.Errorf("log format %q: expected json or text", format)
	}
}

// utc makes lines of hosts in different zones comparable.
func utc(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 && a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

type requestIDKey struct{}

// Identity is the context of one request with its id. It holds the id in the form of a header's
// values, so that both need one allocation (benchmark row beacon). A larger context may embed it.
type Identity struct {
	context.Context
	id [1]string
}

// Identify attaches a request's id to ctx. The caller guarantees the form of the id.
func Identify(ctx context.Context, id string) *Identity { return &Identity{ctx, [1]string{id}} }

// Header returns the id as the values of a header; it must not be changed.
func (i *Identity) Header() []string { return i.id[:] }

// Value implements context.Context.
func (i *Identity) Value(key any) any {
	if key == (requestIDKey{}) {
		return i.id[0]
	}
	return i.Context.Value(key)
}

// RequestID returns the id given by [Identify], or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithContextAttrs wraps a handler so that every record carries the request_id of its context. In a
// logger with an open group the attribute is inside the group.
func WithContextAttrs(next slog.Handler) slog.Handler { return contextHandler{next} }

type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, record slog.Record) error {
	if id := RequestID(ctx); id != "" {
		record = record.Clone() // the caller may pass the same record to other handlers
		record.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, record)
}

func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
