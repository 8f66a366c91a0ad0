package obs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxMessages bounds the memory of a [LimitedLogger]. Messages are constants of the program, so it
// is only reached if a message is built from input; all further ones share one allowance.
const maxMessages = 256

// LimitedLogger writes each message at most once per interval. The attribute "suppressed" of the
// next written line counts the lines left out. It is for failures that may occur with every request
// or record: they belong in a counter, and once in the log. Safe for concurrent use.
type LimitedLogger struct {
	log   *slog.Logger
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex // guards seen
	seen map[string]*allowance
}

// allowance is the state of one message.
type allowance struct {
	next       time.Time // suppressed before this time
	suppressed int       // since the last written line
}

// Limited returns a [LimitedLogger] that writes to logger; a nil one writes nothing. An every of 0
// writes all.
func Limited(logger *slog.Logger, every time.Duration) *LimitedLogger {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &LimitedLogger{log: logger, every: every, now: time.Now, seen: make(map[string]*allowance)}
}

// Error writes at level error, unless msg was written less than an interval ago. args are those of
// slog.
func (l *LimitedLogger) Error(ctx context.Context, msg string, args ...any) {
	l.write(ctx, slog.LevelError, msg, args)
}

// Warn is [LimitedLogger.Error] at level warn.
func (l *LimitedLogger) Warn(ctx context.Context, msg string, args ...any) {
	l.write(ctx, slog.LevelWarn, msg, args)
}

func (l *LimitedLogger) write(ctx context.Context, level slog.Level, msg string, args []any) {
	if !l.log.Enabled(ctx, level) {
		return
	}
	suppressed, allowed := l.allow(msg)
	if !allowed {
		return
	}
	if suppressed > 0 {
		args = append(args[:len(args):len(args)], "suppressed", suppressed)
	}
	l.log.Log(ctx, level, msg, args...)
}

func (l *LimitedLogger) allow(msg string) (suppressed int, allowed bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.seen[msg]
	if a == nil {
		if len(l.seen) >= maxMessages {
			msg = "" // the shared allowance
			a = l.seen[msg]
		}
		if a == nil {
			a = &allowance{}
			l.seen[msg] = a
		}
	}
	if now.Before(a.next) {
		a.suppressed++
		return 0, false
	}
	suppressed, a.suppressed = a.suppressed, 0
	a.next = now.Add(l.every)
	return suppressed, true
}
