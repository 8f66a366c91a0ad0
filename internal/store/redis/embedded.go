package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"adnet/internal/process/lifecycle"
)

// EmbeddedConfig is the address of the Redis inside the process.
type EmbeddedConfig struct {
	Port int `name:"embedded-redis-port" env:"ADNET_EMBEDDED_REDIS_PORT" default:"0" help:"Loopback port of the embedded Redis, 0 for a free one."`
}

// Embedded is a Redis inside the process, for the in-memory mode. Its data ends with the process.
type Embedded struct {
	*lifecycle.Listener
	cfg    EmbeddedConfig
	server *miniredis.Miniredis // set by Start
}

// NewEmbedded checks the settings. It opens nothing.
func NewEmbedded(cfg EmbeddedConfig) (*Embedded, error) {
	if cfg.Port < 0 || cfg.Port > 65535 {
		return nil, errors.New("ADNET_EMBEDDED_REDIS_PORT is not a port")
	}
	return &Embedded{cfg: cfg, Listener: lifecycle.NewListener()}, nil
}

// Start listens. After it Addr is known. A second Start does nothing, even after the end.
func (e *Embedded) Start() error {
	return e.StartOnce(func() (string, error) {
		server := miniredis.NewMiniRedis()
		if err := server.StartAddr(fmt.Sprintf("127.0.0.1:%d", e.cfg.Port)); err != nil {
			return "", fmt.Errorf("embedded Redis (ADNET_EMBEDDED_REDIS_PORT=%d): %w", e.cfg.Port, err)
		}
		e.server = server
		return server.Addr(), nil
	})
}

// Run starts the server unless Start has, and closes it when ctx ends.
func (e *Embedded) Run(ctx context.Context) error {
	if err := e.Start(); err != nil {
		return err
	}
	// The server has no clock of its own for expiry.
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case now := <-ticker.C:
			e.server.FastForward(now.Sub(last))
			last = now
		case <-ctx.Done():
			e.server.Close()
			return nil
		}
	}
}

// Flush empties the server, like a Redis that lost its memory.
func (e *Embedded) Flush() {
	if e.Addr() != "" {
		e.server.FlushAll()
	}
}
