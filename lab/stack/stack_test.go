package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEnvIsReadByAShellAsIs(t *testing.T) {
	s := testStack(t)
	s.state.Ports = map[string]int{namePostgres: 1, nameRedis: 2, nameKafka: 3, nameClickHouse: 4}
	require.ErrorContains(t, s.printEnv(&bytes.Buffer{}), "make stack", "a stack that is down names the fix")

	self, err := startTime(os.Getpid())
	require.NoError(t, err)
	for _, name := range everything() {
		require.NoError(t, s.processes.save(name, record{os.Getpid(), self}))
	}
	var script bytes.Buffer
	require.NoError(t, s.printEnv(&script))
	script.WriteString(`printf '%s\n' "$ADNET_POSTGRES_URL" "$ADNET_POSTGRES_OWNER_URL" "$ADNET_TEST_POSTGRES" "$ADNET_REDIS_ADDR" "$ADNET_TEST_REDIS" \
		"$ADNET_KAFKA_BROKERS" "$ADNET_TEST_KAFKA" "$ADNET_CLICKHOUSE_URL" "$ADNET_TEST_CLICKHOUSE"`)
	shell := exec.Command("sh")
	shell.Stdin = &script
	out, err := shell.Output()
	require.NoError(t, err)
	password, err := s.postgresPassword()
	require.NoError(t, err)
	app, err := s.password("postgres.app.password")
	require.NoError(t, err)
	require.NotEqual(t, password, app)
	require.Equal(t, []string{
		"postgres://adnet_app:" + app + "@127.0.0.1:1/adnet?sslmode=disable",
		"postgres://adnet:" + password + "@127.0.0.1:1/adnet?sslmode=disable",
		"postgres://adnet:" + password + "@127.0.0.1:1/postgres?sslmode=disable",
		"127.0.0.1:2", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:3",
		"clickhouse://127.0.0.1:4/adnet", "clickhouse://127.0.0.1:4/default",
	}, strings.Fields(string(out)))
}

func TestShellQuote(t *testing.T) {
	for _, text := range []string{"", "plain", "a b", "it's", `$HOME "x" \n`, "'", "a\nb"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(text)).Output()
		require.NoError(t, err)
		require.Equal(t, text, string(out))
	}
}

func TestExecPassesVariablesAndExitCodes(t *testing.T) {
	vars := []variable{{"ADNET_TEST_REDIS", "here:1"}}
	require.NoError(t, runCommand(t.Context(), []string{"sh", "-c", `test "$ADNET_TEST_REDIS" = here:1`}, vars))
	for command, code := range map[string]int{"exit 7": 7, "kill -9 $$": 128 + 9} {
		err := runCommand(t.Context(), []string{"sh", "-c", command}, nil)
		var exit exitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, code, int(exit))
	}
	require.ErrorIs(t, runCommand(t.Context(), []string{"/does/not/exist"}, nil), fs.ErrNotExist)
}

func TestExecStartsNothingThatIsGiven(t *testing.T) {
	for _, name := range []string{testPostgres, testRedis, testKafka, testClickHouse} {
		t.Setenv(name, "elsewhere:1")
	}
	s := testStack(t)
	require.NoError(
		t,
		s.exec(
			t.Context(),
			execCmd{Down: true, Command: []string{"--", "sh", "-c", `test "$ADNET_TEST_KAFKA" = elsewhere:1`}},
		),
	)
	entries, err := os.ReadDir(s.processes.dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestPortsMoveOnlyWhenTheyMust(t *testing.T) {
	s := testStack(t)
	s.cfg.Ports = "fixed"
	free, err := publicPorts.free()
	require.NoError(t, err)
	s.cfg.RedisPort = free
	require.NoError(t, s.choosePorts(newRedis(s)))
	require.Equal(t, free, s.port(nameRedis))

	foreign, err := net.Listen("tcp", loopback(free))
	require.NoError(t, err)
	defer func() { _ = foreign.Close() }()
	require.NoError(t, s.choosePorts(newRedis(s)))
	require.NotEqual(t, free, s.port(nameRedis))

	again, err := openStack(s.cfg)
	require.NoError(t, err)
	require.Equal(t, s.state, again.state, "the choice must survive this process")

	s.cfg.Ports = "free"
	stored := s.port(nameRedis)
	require.NoError(t, s.choosePorts(newRedis(s)))
	require.Equal(t, stored, s.port(nameRedis), "a free port that was chosen before is kept")
}

func TestDeadServerIsReportedWithItsLog(t *testing.T) {
	s := testStack(t)
	srv := server{
		name: nameRedis, waits: "nothing", ports: []string{nameRedis},
		prepare: func(context.Context) error { return nil },
		command: func() (*exec.Cmd, error) { return exec.Command("sh", "-c", "echo the reason; exit 1"), nil },
		probe:   func(context.Context) error { return errors.New("silent") },
		limit:   time.Minute,
	}
	err := s.startOnce(t.Context(), srv)
	require.ErrorIs(t, err, errDied)
	require.ErrorContains(t, err, "the reason")
}

func TestReachable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private", "stack")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	stranger := &syscall.Credential{Uid: 4_000_000, Gid: 4_000_000}
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
	require.False(t, reachable(dir, stranger))
	owner := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
	require.True(t, reachable(dir, owner))
	require.False(t, reachable(filepath.Join(dir, "missing"), owner))
}

func TestSharedFolderOfSomebodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	account := &syscall.Credential{Uid: 4_000_000, Gid: 4_000_000}
	require.NoError(t, ownFolder(dir, account))
	require.NoError(t, ownFolder(filepath.Join(dir, "missing"), account))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(dir, link))
	require.ErrorContains(t, ownFolder(link, account), "another user")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, 4_000_001, 4_000_001))
		require.ErrorContains(t, ownFolder(dir, account), "another user")
	}
}

func TestJavaVersion(t *testing.T) {
	require.Equal(t, 17, parseJavaVersion(`openjdk version "17.0.15" 2025-04-15`))
	require.Equal(t, 21, parseJavaVersion(`openjdk version "21" 2023-09-19`))
	require.Equal(t, 1, parseJavaVersion(`java version "1.8.0_401"`))
	require.Zero(t, parseJavaVersion("no java here"))
}

func TestMissingProgramsAreNamedWithTheCommand(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Setenv("PATH", t.TempDir()) // Root without apt-get: nothing may be installed by a test.
	}
	err := testStack(t).installPackages(
		t.Context(), []need{{"redis-server", "redis-server", "redis"}, {"initdb", "postgresql", "postgresql"}},
	)
	require.ErrorContains(t, err, "redis-server, initdb")
	require.ErrorContains(t, err, "install")
	require.ErrorContains(t, err, "postgresql redis")
}

func TestMissingJavaMeansKfakeButNeverInCI(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CI", "true")
	s := testStack(t)
	require.ErrorContains(t, s.chooseKafka(t.Context(), s.kafkaNeeds(t.Context())), "java")
	t.Setenv("CI", "")
	require.NoError(t, s.chooseKafka(t.Context(), s.kafkaNeeds(t.Context())))
	require.Equal(t, engineKfake, s.state.KafkaEngine)
	t.Setenv("CI", "true")
	require.ErrorContains(t, s.chooseKafka(t.Context(), nil), "purge", "what began as kfake must not go on in CI")
}

func TestDownloadsAreCheckedAndAppearWhole(t *testing.T) {
	s := testStack(t)
	archive := filepath.Join(s.cfg.Cache, "a.tgz")
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "package/lib", Size: 4, Mode: 0o755}))
	_, err := files.Write([]byte("code"))
	require.NoError(t, errors.Join(err, files.Close(), zipped.Close(), os.WriteFile(archive, packed.Bytes(), 0o644)))

	require.ErrorContains(t, checkIntegrity(archive, "sha512-AAAA"), "expected sha512-AAAA")
	dir := filepath.Join(s.cfg.Cache, "lib-1")
	require.Error(
		t,
		s.fetch(
			dir, func(fresh string) error { return extract(archive, "package/other", filepath.Join(fresh, "lib")) },
		),
	)
	require.NoDirExists(t, dir)
	require.NoError(
		t,
		s.fetch(dir, func(fresh string) error { return extract(archive, "package/lib", filepath.Join(fresh, "lib")) }),
	)
	text, err := os.ReadFile(filepath.Join(dir, "lib"))
	require.NoError(t, err)
	require.Equal(t, "code", string(text))
	require.NoError(t, s.fetch(dir, func(string) error { return errors.New("fetched twice") }))
}

func TestStateIsReadable(t *testing.T) {
	s := testStack(t)
	require.NoError(t, s.setPort(nameKafka, 4))
	data, err := os.ReadFile(s.stateFile())
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	require.NoError(t, os.WriteFile(s.stateFile(), []byte("{"), 0o644))
	_, err = openStack(s.cfg)
	require.ErrorContains(t, err, "damaged")
}
