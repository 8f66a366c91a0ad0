package cmd_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/track/spool"
	"adnet/internal/kafka"
	"adnet/internal/testenv"
	"adnet/schemas/event"
)

func TestHealth(t *testing.T) {
	_, _, admin := standalone(t)
	for _, args := range [][]string{
		{"health", "--admin-addr", admin[len("http://"):]}, {"health", "--admin-addr", admin[len("http://"):], "--for=ads"},
	} {
		require.Eventually(t, func() bool { return start(t, args...).ends(t, time.Minute) == 0 }, time.Minute, time.Millisecond)
	}
	for problem, args := range map[string][]string{
		"no process answers": {"health", "--admin-addr", testenv.Free(t)}, "must be one of": {"health", "--for=money"},
	} {
		p := start(t, args...)
		require.Equal(t, 1, p.ends(t, time.Minute))
		require.Contains(t, p.err.String(), problem)
	}
}

// refusing is a log that is away.
type refusing struct{}

func (refusing) Produce(_ string, _, _ []byte, done func(error)) { done(errors.New("away")) }

// TestSpoolSend saves the events of a node that is gone.
func TestSpoolSend(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	broker, err := kafka.NewEmbedded(kafka.EmbeddedConfig{}, kafka.Deps{Log: quiet})
	require.NoError(t, err)
	require.NoError(t, broker.Start())
	cfg := kafka.Config{Brokers: []string{broker.Addr()}}
	require.NoError(t, kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{Log: quiet}))

	dir := t.TempDir()
	node, err := spool.New(
		spool.Config{Dir: dir, MaxBytes: 1 << 20},
		spool.Deps{Log: quiet, Metrics: prometheus.NewRegistry(), Producer: refusing{}},
	)
	require.NoError(t, err)
	require.NoError(t, node.Open())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	stored := make(chan error)
	for _, key := range []string{"a", "b", "c"} {
		node.Append(event.TopicEvents, []byte(key), []byte("x"), func(err error) { stored <- err })
		require.NoError(t, <-stored)
	}

	send := func(dir string) *program { return start(t, "spool", "send", dir, "--kafka-brokers", broker.Addr()) }
	p := send(dir)
	require.Equal(t, 1, p.ends(t, time.Minute))
	require.Contains(t, p.err.String(), "in use by another process")
	cancel()
	require.NoError(t, <-ended)
	p = send(dir)
	require.Zero(t, p.ends(t, time.Minute), p.err)
	require.Equal(t, "sent 3 events of "+dir+"\n", p.out.String())
	spans, err := kafka.Spans(t.Context(), cfg, event.TopicEvents, kafka.Deps{Log: quiet})
	require.NoError(t, err)
	var records int64
	for _, s := range spans {
		records += s.Behind(0)
	}
	require.EqualValues(t, 3, records)
	p = send(dir)
	require.Zero(t, p.ends(t, time.Minute), p.err)
	require.Contains(t, p.out.String(), "sent 0 events")

	p = send(filepath.Join(dir, "typo"))
	require.Equal(t, 1, p.ends(t, time.Minute))
	_, err = os.Stat(filepath.Join(dir, "typo"))
	require.ErrorIs(t, err, os.ErrNotExist, "a wrong name creates no folder")
}
