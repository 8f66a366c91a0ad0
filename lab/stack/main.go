// Command stack runs the real stack of adnet: PostgreSQL, Redis, Apache Kafka (KRaft, one broker)
// and ClickHouse, all on loopback ports. Where docker or podman has compose, up starts containers
// (compose.yml). Otherwise, and for tests and the fault suite, the servers are detached processes
// of the current user.
//
//	go run ./lab/stack up       install and start the missing servers, wait until all answer
//	go run ./lab/stack status   print one line per server; exit 1 unless all four answer
//	go run ./lab/stack env      print export lines for the running stack
//	go run ./lab/stack serve    migrate, then run one ingress and one consumers process
//	go run ./lab/stack exec -- COMMAND   up, then run COMMAND and pass its exit code through
//	go run ./lab/stack down     stop the servers of the stack and keep the data
//
// Contract: every started process is recorded with its pid and start time in one folder
// (ADNET_STACK_DIR), next to data and logs. A second up starts only the servers that do not answer.
// down touches only processes that still match their record, so it never signals a pid that another
// process reuses. Downloads (Kafka's jars, the ClickHouse library) are pinned, verified and kept in
// ADNET_CACHE_DIR.
//
// # Notes
//
// Without containers ClickHouse is a library, whose server crashes on a reset connection or a
// refused hello, so front.go relays its clients. The official server does not need it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
)

// settings are shared by all commands. Ports are loopback TCP ports.
type settings struct {
	Dir            string `name:"dir" env:"ADNET_STACK_DIR" default:".adnet/stack" help:"Folder of data, logs and pid files."`
	Cache          string `name:"cache" env:"ADNET_CACHE_DIR" help:"Folder of downloads (default ~/.cache/adnet)."`
	Servers        string `name:"servers" env:"ADNET_STACK_SERVERS" enum:"auto,containers,programs" default:"auto" help:"What runs the servers of a new stack: containers, programs, or auto (containers where docker or podman has compose)."`
	Kafka          string `name:"kafka" env:"ADNET_STACK_KAFKA" enum:"auto,apache,kfake" default:"auto" help:"Broker: apache, kfake, or auto (kfake only where Java or Maven is unavailable)."`
	KafkaHeap      string `name:"kafka-heap" env:"ADNET_STACK_KAFKA_HEAP" default:"512m" help:"Java heap of Kafka."`
	Brokers        int    `name:"brokers" env:"ADNET_STACK_BROKERS" default:"1" help:"Apache Kafka brokers of a new stack: 1, or 3 that replicate."`
	KafkaVia       []int  `name:"kafka-via" env:"ADNET_STACK_KAFKA_VIA" help:"Ports of proxies, one a broker: each broker of a new stack has one more listener, which advertises the address of its proxy."`
	TLS            string `name:"tls" env:"ADNET_STACK_TLS" help:"Folder of certificates (listed in tls.go): every server also listens for encrypted connections."`
	PostgresPort   int    `name:"postgres-port" env:"ADNET_STACK_POSTGRES_PORT" default:"25432" help:"PostgreSQL port."`
	RedisPort      int    `name:"redis-port" env:"ADNET_STACK_REDIS_PORT" default:"26379" help:"Redis port."`
	KafkaPort      int    `name:"kafka-port" env:"ADNET_STACK_KAFKA_PORT" default:"29092" help:"Kafka port."`
	ClickHousePort int    `name:"clickhouse-port" env:"ADNET_STACK_CLICKHOUSE_PORT" default:"29000" help:"ClickHouse native protocol port."`
	ClickHouseHTTP int    `name:"clickhouse-http-port" env:"ADNET_STACK_CLICKHOUSE_HTTP_PORT" default:"28123" help:"ClickHouse HTTP port."`
	RedisClock     int64  `name:"redis-clock" hidden:"" help:"Seconds added to the wall clock of Redis, for the fault suite."`
	Ports          string `name:"ports" env:"ADNET_STACK_PORTS" enum:"fixed,free" default:"fixed" help:"fixed: the ports above; free: any free ports."`
}

// cli is the command line.
type cli struct {
	settings

	Up     struct{}  `cmd:"" help:"Install and start the missing servers, wait until all answer."`
	Down   downCmd   `cmd:"" help:"Stop the servers of the stack. Deletes nothing without --purge."`
	Status struct{}  `cmd:"" help:"Print the state of each server. Exit 1 unless all answer."`
	Env    struct{}  `cmd:"" help:"Print export lines for the running stack."`
	Serve  serveOpts `cmd:"" help:"Migrate, then run one ingress and one consumers process against the running stack."`
	Exec   execCmd   `cmd:"" help:"Bring the stack up, run a command with its variables, pass its exit code through."`

	ClickhouseHost  clickhouseHostCmd  `cmd:"" hidden:""`
	ClickhouseChild clickhouseChildCmd `cmd:"" hidden:""`
	KfakeHost       kfakeHostCmd       `cmd:"" hidden:""`
}

type downCmd struct {
	Purge bool `help:"Also delete the folder with all data and logs."`
}

// exitError carries the exit code of the user's command.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	var c cli
	parsed := kong.Parse(&c, kong.Name("stack"), kong.Description("The real adnet stack on this machine."))
	err := run(parsed.Command(), &c)
	var code exitError
	switch {
	case err == nil:
	case errors.As(err, &code):
		os.Exit(int(code))
	default:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(command string, c *cli) error {
	// An interrupted launcher stops waiting at once. Servers already started keep running and are
	// recorded, so the next up or down finds them.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	switch command {
	case "clickhouse-host":
		return c.ClickhouseHost.run(ctx)
	case "clickhouse-child":
		return c.ClickhouseChild.run()
	case "kfake-host":
		return c.KfakeHost.run(ctx)
	}
	s, err := openStack(c.settings)
	if err != nil {
		return err
	}
	switch command {
	case "up":
		if err := s.chooseContainers(ctx); err != nil {
			return err
		}
		if _, err := s.up(ctx, everything()); err != nil {
			return err
		}
		fmt.Println(s.addresses())
		return nil
	case "down":
		return s.down(c.Down.Purge)
	case "status":
		return s.status(ctx, os.Stdout)
	case "env":
		return s.printEnv(os.Stdout)
	case "serve":
		return s.serve(ctx, c.Serve)
	default:
		return s.exec(ctx, c.Exec)
	}
}

// absolute resolves the folders, so that detached processes do not depend on the current folder.
func (c *settings) absolute() error {
	if c.Cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("no home folder for downloads, set ADNET_CACHE_DIR: %w", err)
		}
		c.Cache = filepath.Join(home, ".cache", "adnet")
	}
	for _, dir := range []*string{&c.Dir, &c.Cache, &c.TLS} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	return nil
}
