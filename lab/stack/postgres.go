package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const postgresRole = "adnet"

// postgresAppRole is the role that adnet's processes use: `adnet migrate` creates it, and it cannot
// change the ledger.
const postgresAppRole = "adnet_app"

func newPostgres(s *stack) server {
	return server{
		name:    namePostgres,
		waits:   "an SQL query",
		ports:   []string{namePostgres},
		prepare: s.initPostgres,
		command: s.postgresCommand,
		probe:   s.probePostgres,
		// SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one; both keep committed
		// data.
		stop:  []escalation{{syscall.SIGINT, 30 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}},
		limit: time.Minute,
	}
}

// postgresBin returns the path of a PostgreSQL server program. Debian keeps them outside PATH, in a
// folder per version.
func postgresBin(program string) (string, error) {
	var best string
	var bestVersion int
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/local/opt/postgresql@*/bin", "/opt/homebrew/opt/postgresql@*/bin",
	} {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			label := filepath.Base(filepath.Dir(dir))
			version, _ := strconv.Atoi(strings.TrimPrefix(label, "postgresql@"))
			file := filepath.Join(dir, program)
			if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 && version > bestVersion {
				best, bestVersion = file, version
			}
		}
	}
	if best != "" {
		return best, nil
	}
	return exec.LookPath(program)
}

// postgresData returns the data folder. PostgreSQL refuses to run as root, so under root it belongs
// to another user; when that user cannot reach the stack folder (a clone below a private folder) it
// moves to /var/tmp.
func (s *stack) postgresData() (string, error) {
	own := filepath.Join(s.cfg.Dir, "postgres")
	account, err := postgresAccount()
	if err != nil || account == nil {
		return own, err
	}
	if reachable(s.cfg.Dir, account) {
		return own, nil
	}
	return filepath.Join("/var/tmp", "adnet-postgres-"+folderKey(s.cfg.Dir)), nil
}

// postgresAccount returns the user that runs PostgreSQL: nil for the current user; postgres or the
// system account "nobody" under root.
func postgresAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root and there is neither a user postgres nor nobody")
}

// reachable reports whether the account may enter dir and every folder above it.
func reachable(dir string, account *syscall.Credential) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		bit := fs.FileMode(0o001)
		switch {
		case owner.Uid == account.Uid:
			bit = 0o100
		case owner.Gid == account.Gid:
			bit = 0o010
		}
		if info.Mode()&bit == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// initPostgres creates the cluster once. It is created beside its final path and renamed, so an
// interrupted first start leaves no incomplete cluster.
func (s *stack) initPostgres(ctx context.Context) error {
	data, err := s.postgresData()
	if err != nil {
		return err
	}
	account, err := postgresAccount()
	if err != nil {
		return err
	}
	if filepath.Dir(data) != s.cfg.Dir {
		if err := ownFolder(data, account); err != nil {
			return err
		}
		s.say(namePostgres, "the database user cannot enter %s; data goes to %s", s.cfg.Dir, data)
	}
	password, err := s.postgresPassword()
	if err != nil {
		return err
	}
	cluster := filepath.Join(data, "data")
	if _, err := os.Stat(filepath.Join(cluster, "PG_VERSION")); err == nil {
		return chownTree(data, account)
	}
	s.say(namePostgres, "creating the database cluster in %s", cluster)
	fresh, pwfile := filepath.Join(data, "data.new"), filepath.Join(data, "initdb.password")
	if err := errors.Join(
		os.RemoveAll(fresh), os.MkdirAll(data, 0o700), writeFile(pwfile, []byte(password), 0o600),
	); err != nil {
		return err
	}
	defer func() { _ = os.Remove(pwfile) }()
	if err := chownTree(data, account); err != nil {
		return err
	}
	initdb, err := postgresBin("initdb")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, initdb, "--pgdata="+fresh, "--encoding=UTF8", "--locale=C",
		"--username="+postgresRole,
		"--auth=scram-sha-256", "--pwfile="+pwfile)
	cmd.Dir = data
	cmd.Env = serverEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Rename(fresh, cluster)
}

// ownFolder rejects a folder of another user in a shared directory, because its owner could read
// the data.
func ownFolder(dir string, account *syscall.Credential) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || (int(owner.Uid) != os.Geteuid() && owner.Uid != account.Uid) {
		return fmt.Errorf(
			"%s belongs to another user; set ADNET_STACK_DIR to a folder that other users may enter", dir,
		)
	}
	return nil
}

// postgresPassword returns the superuser's password. It is created once and readable only for the
// owner of the stack, because other users of the machine also reach the loopback port.
func (s *stack) postgresPassword() (string, error) { return s.password("postgres.password") }

// password returns a password of this stack, and creates it if missing.
func (s *stack) password(file string) (string, error) {
	name := filepath.Join(s.cfg.Dir, file)
	if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
		return string(data), nil
	}
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	password := hex.EncodeToString(b[:])
	return password, writeFile(name, []byte(password), 0o600)
}

func (s *stack) postgresCommand() (*exec.Cmd, error) {
	program, err := postgresBin("postgres")
	if err != nil {
		return nil, err
	}
	data, err := s.postgresData()
	if err != nil {
		return nil, err
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	encrypted, err := s.postgresTLS(data)
	if err != nil {
		return nil, err
	}
	args := []string{"-D", filepath.Join(data, "data")}
	for _, setting := range append(encrypted,
		"listen_addresses=127.0.0.1", "port="+strconv.Itoa(s.port(namePostgres)), "unix_socket_directories=",
		"fsync=on", "synchronous_commit=on", "full_page_writes=on",
		"shared_buffers=256MB", "max_connections=200", "max_wal_size=2GB", "logging_collector=off", "log_timezone=UTC",
		"timezone=UTC",
	) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = data
	cmd.Env = serverEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	return cmd, nil
}

// postgresURL returns the address of one database for the superuser role of this stack.
func (s *stack) postgresURL(database string) (string, error) {
	password, err := s.postgresPassword()
	if err != nil {
		return "", err
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresRole, password), Host: s.address(namePostgres),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String(), nil
}

// postgresAppURL returns the address of the product's database for the restricted role.
func (s *stack) postgresAppURL() (string, error) {
	password, err := s.password("postgres.app.password")
	if err != nil {
		return "", err
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresAppRole, password), Host: s.address(namePostgres),
		Path: "/adnet", RawQuery: "sslmode=disable",
	}
	return u.String(), nil
}

// probePostgres runs a query and ensures that the database adnet exists.
func (s *stack) probePostgres(ctx context.Context) error {
	address, err := s.postgresURL("postgres")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	if err := conn.QueryRow(
		ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'adnet')",
	).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE adnet")
	return err
}

// chownTree gives a folder and its content to the account; nil keeps the owner.
func chownTree(dir string, account *syscall.Credential) error {
	if account == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(account.Uid), int(account.Gid))
	})
}
