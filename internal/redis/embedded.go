package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// EmbeddedConfig is the address of the Redis inside the process.
type EmbeddedConfig struct {
	Port int `name:"embedded-redis-port" env:"ADNET_EMBEDDED_REDIS_PORT" default:"0" help:"Loopback port of the embedded Redis, 0 for a free one."`
}

// Embedded is a Redis inside the process, for the in-memory mode. Its data ends with the process.
type Embedded struct {
	ready chan struct{} // closed by Start
	cfg   EmbeddedConfig

	mu     sync.Mutex
	server *miniredis.Miniredis
	addr   string
}

// NewEmbedded checks the settings. It opens nothing.
func NewEmbedded(cfg EmbeddedConfig) (*Embedded, error) {
	if cfg.Port < 0 || cfg.Port > 65535 {
		return nil, errors.New("ADNET_EMBEDDED_REDIS_PORT is not a port")
	}
	return &Embedded{cfg: cfg, ready: make(chan struct{})}, nil
}

// Start listens. After it Addr is known. A second Start does nothing, even after the end.
func (e *Embedded) Start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return nil
	}
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(fmt.Sprintf("127.0.0.1:%d", e.cfg.Port)); err != nil {
		return fmt.Errorf("embedded Redis (ADNET_EMBEDDED_REDIS_PORT=%d): %w", e.cfg.Port, err)
	}
	e.server, e.addr = server, server.Addr()
	close(e.ready)
	return nil
}

// Addr returns host:port of the server, or an empty string before Start.
func (e *Embedded) Addr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.addr
}

// Ready is closed when Addr is known.
func (e *Embedded) Ready() <-chan struct{} { return e.ready }

// Run starts the server unless Start has, and closes it when ctx ends.
func (e *Embedded) Run(ctx context.Context) error {
	if err := e.Start(); err != nil {
		return err
	}
	e.mu.Lock()
	server := e.server
	e.mu.Unlock()
	// The server has no clock of its own for expiry.
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case now := <-ticker.C:
			server.FastForward(now.Sub(last))
			last = now
		case <-ctx.Done():
			server.Close()
			return nil
		}
	}
}

// Flush empties the server, like a Redis that lost its memory.
func (e *Embedded) Flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		e.server.FlushAll()
	}
}
