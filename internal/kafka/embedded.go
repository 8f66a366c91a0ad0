package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"adnet/internal/process/lifecycle"
)

// retentionEvery is the interval at which [Embedded] removes records beyond the retention of its
// topics.
const retentionEvery = time.Minute

// EmbeddedConfig holds the port and the data directory of the broker inside the process.
type EmbeddedConfig struct {
	DataDir    string `name:"embedded-kafka-dir" env:"ADNET_EMBEDDED_KAFKA_DIR" default:"" help:"Folder of the embedded event log; empty keeps it in memory."`
	Port       int    `name:"embedded-kafka-port" env:"ADNET_EMBEDDED_KAFKA_PORT" default:"0" help:"Loopback port of the embedded event log, 0 for a free one."`
	SyncWrites bool   `name:"embedded-kafka-sync" env:"ADNET_EMBEDDED_KAFKA_SYNC" default:"true" negatable:"" help:"Flush every write of the embedded event log to the disk before it is acknowledged."`
}

// Embedded is a broker inside the process, for in-memory mode and for development: one node on
// loopback that uses the real protocol. With a data directory, acknowledged records survive the
// process. The directory belongs to one process at a time.
type Embedded struct {
	*lifecycle.Listener
	cfg  EmbeddedConfig
	deps Deps

	cluster *kfake.Cluster // set by Start
	lock    *os.File       // of the data directory
}

// NewEmbedded validates the settings. It opens nothing.
func NewEmbedded(cfg EmbeddedConfig, deps Deps) (*Embedded, error) {
	if cfg.Port < 0 || cfg.Port > 65535 {
		return nil, errors.New("ADNET_EMBEDDED_KAFKA_PORT is not a port")
	}
	return &Embedded{cfg: cfg, deps: deps, Listener: lifecycle.NewListener()}, nil
}

// Start opens the data directory and listens. Addr is known afterwards. A second Start does
// nothing, even after the end.
func (e *Embedded) Start() error { return e.StartOnce(e.listen) }

func (e *Embedded) listen() (addr string, err error) {
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.WithLogger(brokerLog{e.deps.log()})}
	if e.cfg.Port != 0 {
		options = append(options, kfake.Ports(e.cfg.Port))
	}
	if e.cfg.DataDir != "" {
		if err := e.lockDir(); err != nil {
			return "", err
		}
		options = append(options, kfake.DataDir(filepath.Join(e.cfg.DataDir, "log")))
		if e.cfg.SyncWrites {
			options = append(options, kfake.SyncWrites())
		}
	}
	if e.cluster, err = kfake.NewCluster(options...); err != nil {
		e.unlock()
		return "", fmt.Errorf(
			"embedded event log (ADNET_EMBEDDED_KAFKA_DIR=%q, ADNET_EMBEDDED_KAFKA_PORT=%d): %w", e.cfg.DataDir,
			e.cfg.Port, err,
		)
	}
	return e.cluster.ListenAddrs()[0], nil
}

// Run starts the broker unless Start has done so. When ctx ends, it stops the broker after the data
// is on disk. It must be the last component to stop, because all others write to it.
func (e *Embedded) Run(ctx context.Context) error {
	if err := e.Start(); err != nil {
		return err
	}
	// The broker's own cleaner starts only when a topic's settings change, not after a restart.
	ticker := time.NewTicker(retentionEvery)
	defer ticker.Stop()
	for {
		e.cluster.ApplyRetention()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			e.cluster.Close()
			e.unlock()
			return nil
		}
	}
}

// lockDir locks the directory for this process: two brokers would silently corrupt each other's
// files.
func (e *Embedded) lockDir() error {
	if err := os.MkdirAll(e.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("ADNET_EMBEDDED_KAFKA_DIR: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(e.cfg.DataDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("ADNET_EMBEDDED_KAFKA_DIR: %w", err)
	}
	if err := lockFile(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("ADNET_EMBEDDED_KAFKA_DIR=%s is used by another process: %w", e.cfg.DataDir, err)
	}
	e.lock = file
	return nil
}

// unlock releases the directory. Closing the file releases its lock.
func (e *Embedded) unlock() {
	if e.lock != nil {
		_ = e.lock.Close()
		e.lock = nil
	}
}

type brokerLog struct{ log *slog.Logger }

// Logf implements kfake.Logger. The broker's "info" reports every request and is dropped.
func (l brokerLog) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error("embedded event log: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn("embedded event log: " + fmt.Sprintf(format, args...))
	}
}
