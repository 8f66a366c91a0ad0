package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var first map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &first), line)
		all = append(all, first)
	}
	return all
}

func TestLoggerAddsTheRequestID(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", "info")
	require.NoError(t, err)
	ctx := Identify(t.Context(), "r-1")
	require.Equal(t, "r-1", RequestID(ctx))
	require.Empty(t, RequestID(t.Context()))

	log.InfoContext(ctx, "plain")
	log.With("a", 1).InfoContext(ctx, "attributes")
	log.WithGroup("g").InfoContext(ctx, "group", "b", 2)
	log.InfoContext(t.Context(), "no request")
	log.DebugContext(ctx, "too fine")
	got := lines(t, out.String())
	require.Len(t, got, 4)
	require.Equal(t, "r-1", got[0]["request_id"])
	require.Equal(t, "r-1", got[1]["request_id"])
	require.Equal(t, 1.0, got[1]["a"])
	require.Equal(t, map[string]any{"b": 2.0, "request_id": "r-1"}, got[2]["g"])
	require.NotContains(t, got[3], "request_id")
	for _, line := range got {
		require.True(t, strings.HasSuffix(line["time"].(string), "Z"), "UTC")
	}
}

// A handler must not change a record that others may hold.
func TestRecordIsNotShared(t *testing.T) {
	var out bytes.Buffer
	handler := WithContextAttrs(slog.NewJSONHandler(&out, nil))
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "m", 0)
	for i := range 8 { // enough to make the record keep its attributes in a slice with room
		record.AddAttrs(slog.Int(fmt.Sprint("a", i), i))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			assert.NoError(t, handler.Handle(Identify(t.Context(), fmt.Sprint(i)), record))
		})
	}
	all.Wait()
	seen := make(map[any]bool)
	for _, line := range lines(t, out.String()) {
		seen[line["request_id"]] = true
	}
	require.Len(t, seen, 4)
	require.Equal(t, 8, record.NumAttrs())
}

func TestLoggerFormatsAndLevels(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error", "WARN"} {
		for _, format := range []string{"json", "text", "JSON"} {
			log, err := NewLogger(io.Discard, format, level)
			require.NoError(t, err)
			for _, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				require.Equal(
					t, !strings.EqualFold(level, at.String()) && isBelow(at, level), !log.Enabled(t.Context(), at),
				)
			}
		}
	}
	_, err := NewLogger(io.Discard, "xml", "info")
	require.ErrorContains(t, err, "json or text")
	_, err = NewLogger(io.Discard, "json", "loud")
	require.ErrorContains(t, err, "debug, info, warn or error")
}

func isBelow(at slog.Level, name string) bool {
	var least slog.Level
	return least.UnmarshalText([]byte(name)) == nil && at < least
}

func TestLimitedWritesOncePerInterval(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", "warn")
	require.NoError(t, err)
	limited := Limited(log, time.Second)
	clock := time.Unix(1000, 0)
	limited.now = func() time.Time { return clock }
	ctx := Identify(t.Context(), "r-1")

	for range 5 {
		limited.Error(ctx, "store is away", "error", errors.New("refused"))
	}
	limited.Warn(ctx, "another message")
	clock = clock.Add(time.Second - 1)
	limited.Error(ctx, "store is away")
	clock = clock.Add(1)
	limited.Error(ctx, "store is away")
	clock = clock.Add(time.Second)
	limited.Error(ctx, "store is away")

	got := lines(t, out.String())
	require.Len(t, got, 4)
	require.Equal(t, "ERROR", got[0]["level"])
	require.Equal(t, "refused", got[0]["error"])
	require.Equal(t, "r-1", got[0]["request_id"])
	require.NotContains(t, got[0], "suppressed")
	require.Equal(t, "WARN", got[1]["level"])
	require.Equal(t, 5.0, got[2]["suppressed"])
	require.NotContains(t, got[3], "suppressed")
}

func TestLimitedKeepsBoundedMemory(t *testing.T) {
	var out bytes.Buffer
	limited := Limited(slog.New(slog.NewJSONHandler(&out, nil)), time.Hour)
	for i := range 10 * maxMessages {
		limited.Error(t.Context(), fmt.Sprint("built from input ", i))
	}
	require.LessOrEqual(t, len(limited.seen), maxMessages+1)
	require.Len(t, lines(t, out.String()), maxMessages+1)
}

func TestLimitedWithoutLogger(t *testing.T) {
	Limited(nil, time.Second).Error(context.Background(), "nowhere")
}

func TestLimitedDoesNotChangeTheCallersArgs(t *testing.T) {
	limited := Limited(slog.New(slog.NewJSONHandler(io.Discard, nil)), time.Second)
	clock := time.Unix(1000, 0)
	limited.now = func() time.Time { return clock }
	args := append(make([]any, 0, 8), "a", 1)
	limited.Error(t.Context(), "m", args...)
	limited.Error(t.Context(), "m", args...)
	clock = clock.Add(time.Minute)
	limited.Error(t.Context(), "m", args...)
	require.Equal(t, []any{nil, nil}, args[2:4:4])
}

func TestLimitedFromManyGoroutines(t *testing.T) {
	var out bytes.Buffer
	limited := Limited(slog.New(slog.NewJSONHandler(&out, nil)), time.Hour)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				limited.Error(t.Context(), "m")
			}
		})
	}
	all.Wait()
	require.Len(t, lines(t, out.String()), 1)
	require.Equal(t, 1599, limited.seen["m"].suppressed)
}
