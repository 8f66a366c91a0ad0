package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/process/schedule"
	"adnet/lab/product"
)

const brokers = 3

// stack holds the servers, which lab/stack runs in a folder of this run, and direct connections
// to them that bypass the proxies.
type stack struct {
	dir, launcher, bin string
	clock              time.Duration // offset of Redis's clock to the machine's
	ports              map[string]int
	via                []int // ports advertised to Kafka clients: a proxy for each broker
	url                string
	db                 *pgxpool.Pool
	log                *kadm.Client
	logClient          *kgo.Client
}

// startStack builds the binaries, starts the servers and migrates.
func startStack(ctx context.Context, s *suite) (*stack, error) {
	k := &stack{dir: s.cfg.Dir, launcher: filepath.Join(s.cfg.Dir, "local"), bin: filepath.Join(s.cfg.Dir, "adnet")}
	s.stack = k
	if err := os.MkdirAll(s.cfg.Dir, 0o755); err != nil {
		return k, err
	}
	s.say("building")
	if err := command(ctx, nil, "go", "build", "-o", k.launcher, "adnet/lab/stack"); err != nil {
		return k, err
	}
	if err := k.remove(); err != nil { // remains of a killed run
		return k, err
	}
	if err := os.MkdirAll(s.cfg.Dir, 0o755); err != nil {
		return k, err
	}
	if err := command(ctx, nil, "go", "build", "-o", k.launcher, "adnet/lab/stack"); err != nil {
		return k, err
	}
	without, err := breaks.Without(s.cfg.Break)
	if err != nil {
		return k, err
	}
	how := product.Build{Binary: k.bin, Scratch: k.dir, Shifted: s.shifted, Without: without}
	if err := how.Make(ctx); err != nil {
		return k, err
	}
	if k.via, err = freePorts(brokers); err != nil {
		return k, err
	}
	s.say("starting PostgreSQL, Redis, ClickHouse and %d Kafka brokers", brokers)
	list := make([]string, brokers)
	for i, port := range k.via {
		list[i] = strconv.Itoa(port)
	}
	if err := k.up(ctx, "--brokers="+strconv.Itoa(brokers), "--kafka-via="+strings.Join(list, ",")); err != nil {
		return k, err
	}
	s.setClock()
	if err := k.setRedisClock(ctx, s.clock); err != nil {
		return k, err
	}
	return k, k.connect(ctx, s.clock)
}

// setRedisClock restarts Redis, which is still empty, with the clock of the processes, because it
// determines reservations and days.
func (k *stack) setRedisClock(ctx context.Context, by time.Duration) error {
	if k.clock = by; by == 0 {
		return nil
	}
	if err := k.signal("redis", syscall.SIGKILL); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 200*time.Millisecond)
	if err := os.RemoveAll(filepath.Join(k.folder(), "redis")); err != nil {
		return err
	}
	return k.up(ctx)
}

// connect opens the direct connections and sets the database's clock.
func (k *stack) connect(ctx context.Context, clock time.Duration) error {
	data, err := os.ReadFile(filepath.Join(k.folder(), "stack.json"))
	if err != nil {
		return err
	}
	var state struct {
		Ports map[string]int `json:"ports"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return err
	}
	k.ports = state.Ports
	password, err := os.ReadFile(filepath.Join(k.folder(), "postgres.password"))
	if err != nil {
		return err
	}
	k.url = fmt.Sprintf("postgres://adnet:%s@%s/adnet?sslmode=disable", password, k.addr("postgres"))
	if k.db, err = pgxpool.New(ctx, k.url); err != nil {
		return err
	}
	if k.logClient, err = kgo.NewClient(kgo.SeedBrokers(
		k.addr("kafka"), k.addr("kafka-2"), k.addr("kafka-3"),
	)); err != nil {
		return err
	}
	k.log = kadm.NewClient(k.logClient)
	return k.setClock(ctx, clock)
}

// setClock gives the database the clock of the processes. Time functions in the schema public
// shadow those of the server.
func (k *stack) setClock(ctx context.Context, by time.Duration) error {
	if by == 0 {
		return nil
	}
	conn, err := pgx.Connect(ctx, k.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	sql := ""
	for name, volatility := range map[string]string{
		"now": "STABLE", "transaction_timestamp": "STABLE", "statement_timestamp": "STABLE",
		"clock_timestamp": "VOLATILE",
	} {
		sql += fmt.Sprintf("CREATE FUNCTION public.%s() RETURNS timestamptz LANGUAGE sql %s AS $$ SELECT "+
			"pg_catalog.%s() + interval '%d seconds' $$;\n",
			name, volatility, name, int64(by.Seconds()))
	}
	_, err = conn.Exec(ctx, sql+"ALTER DATABASE adnet SET search_path = public, pg_catalog")
	return err
}

func (k *stack) folder() string          { return filepath.Join(k.dir, "stack") }
func (k *stack) addr(name string) string { return "127.0.0.1:" + strconv.Itoa(k.ports[name]) }

// up starts the servers that are not running.
func (k *stack) up(ctx context.Context, args ...string) error {
	return command(ctx, nil, k.launcher, append([]string{"up", "--dir=" + k.folder(), "--ports=free",
		"--redis-clock=" + strconv.FormatInt(int64(k.clock.Seconds()), 10)}, args...)...)
}

// remove stops the servers and deletes the folder.
func (k *stack) remove() error {
	if k.db != nil {
		k.db.Close()
		k.logClient.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failed error
	if _, err := os.Stat(filepath.Join(k.folder(), "stack.json")); err == nil {
		failed = command(ctx, nil, k.launcher, "down", "--purge", "--dir="+k.folder())
	}
	for i := range 2 {
		_ = syscall.Unmount(spoolDir(k.dir, i), syscall.MNT_DETACH)
	}
	return errors.Join(failed, os.RemoveAll(k.dir))
}

// pid returns the process id of a server.
func (k *stack) pid(name string) (int, error) {
	data, err := os.ReadFile(filepath.Join(k.folder(), "run", name+".pid"))
	if err != nil {
		return 0, err
	}
	var record struct{ Pid int }
	if err := json.Unmarshal(data, &record); err != nil || record.Pid < 2 {
		return 0, fmt.Errorf("no process of %s: %s", name, data)
	}
	return record.Pid, nil
}

// signal sends a signal to a server.
func (k *stack) signal(name string, sig syscall.Signal) error {
	pid, err := k.pid(name)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, sig)
}

// clickhouse runs a query over HTTP, bypassing the proxies.
func (k *stack) clickhouse(ctx context.Context, sql string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(
		ctx, http.MethodPost, "http://"+k.addr("clickhouse-http")+"/?database=adnet", strings.NewReader(sql),
	)
	if err != nil {
		return nil, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(reply.Body, 1000))
		_ = reply.Body.Close()
		return nil, fmt.Errorf("clickhouse: %s", text)
	}
	return reply.Body, nil
}

// count runs a query that returns one number.
func (k *stack) count(ctx context.Context, sql string) (int64, error) {
	body, err := k.clickhouse(ctx, sql)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// redis sends one command.
func (k *stack) redis(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", k.addr("redis"), 2*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(strings.Join(words, " ") + "\r\n")); err != nil {
		return "", err
	}
	answer := make([]byte, 200)
	n, err := conn.Read(answer)
	return strings.TrimSpace(string(answer[:n])), err
}

// command runs a program to its end. An error contains its output.
func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // this program handles Ctrl-C, in order
	// The launcher must record its new processes so that they can be stopped. It gets SIGTERM, and
	// SIGKILL much later.
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGINT) }, 20*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}

// freePorts returns ports below the system's ephemeral range, so that no other process gets one by
// chance.
func freePorts(n int) ([]int, error) {
	var ports []int
	for port := 20_000 + os.Getpid()%8_000; len(ports) < n && port < 32_000; port++ {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		_ = listener.Close()
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports")
	}
	return ports, nil
}
