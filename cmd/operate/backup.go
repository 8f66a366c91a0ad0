package operate

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/kafka"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
	"adnet/internal/stream"
)

// manifestName is the file written last: a folder without it is not a complete backup.
const manifestName = "manifest.json"

// manifest describes the contents of a backup and their watermark.
type manifest struct {
	Format   int       `json:"format"` // 1
	MadeAt   time.Time `json:"made_at"`
	Postgres struct {
		File   backupFile       `json:"file"`
		Schema []string         `json:"schema"`
		Rows   map[string]int64 `json:"rows"`
	} `json:"postgres"`
	ClickHouse []tableFile `json:"clickhouse"`
	// Settlement continues at Offsets, the archive at Archived: ClickHouse has every event below.
	Offsets  map[string]int64 `json:"offsets"`
	Archived map[string]int64 `json:"archived"`
}

type backupFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type tableFile struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	backupFile
}

// Backup is `adnet backup`.
type Backup struct {
	Postgres   postgres.Config      `embed:""`
	Owner      postgres.OwnerConfig `embed:""`
	Client     postgres.Client      `embed:""`
	ClickHouse clickhouse.Config    `embed:""`
	Dir        string               `name:"dir" required:"" help:"Folder to write to; it must not exist or be empty."`
	Wait       time.Duration        `name:"wait" default:"30s" help:"How long a chunk of the archive that is being inserted may take."`
}

// Run copies both stores while adnet runs. The archive is paused from before the snapshot of
// PostgreSQL until ClickHouse is copied, so ClickHouse has exactly the events below the archived
// offsets of the snapshot. Settlement continues meanwhile: Kafka holds the records that it applies
// after the snapshot, above the offsets of the snapshot.
func (c *Backup) Run(p cli.Process) (err error) {
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("--dir %s is not empty", c.Dir)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	store, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	decided, err := backends.OpenClickHouse(p.Ctx, p.Log, c.ClickHouse)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "ClickHouse", decided.Close)
	m := manifest{Format: 1, MadeAt: time.Now().UTC()}
	snapshot, err := c.watermark(p, store, decided, &m)
	if snapshot != nil {
		defer func() { err = errors.Join(err, snapshot.Close(p.Ctx)) }()
	}
	if err != nil {
		return err
	}
	m.Postgres.File.Name, m.Postgres.Schema, m.Postgres.Rows = "postgres.dump", snapshot.Schema, snapshot.Rows
	m.Offsets, m.Archived = placesOf(snapshot.Offsets), placesOf(snapshot.Archive)
	file := filepath.Join(c.Dir, m.Postgres.File.Name)
	owner, err := c.Owner.Or(c.Postgres)
	if err != nil {
		return err
	}
	if err := c.Client.Dump(p.Ctx, owner, snapshot, file); err != nil {
		return err
	}
	if m.Postgres.File.Bytes, m.Postgres.File.SHA256, err = sumOf(file); err != nil {
		return err
	}
	if err := writeManifest(c.Dir, m); err != nil {
		return err
	}
	rows := int64(0)
	for _, t := range m.ClickHouse {
		rows += t.Rows
	}
	fmt.Fprintf(
		p.Stdout, "backup: PostgreSQL %d tables (%d bytes), ClickHouse %d tables (%d rows), in %s\n",
		len(m.Postgres.Rows), m.Postgres.File.Bytes, len(m.ClickHouse), rows, c.Dir,
	)
	return nil
}

// watermark takes PostgreSQL's snapshot and copies ClickHouse while the archive is paused.
func (c *Backup) watermark(
	p cli.Process, store *postgres.Stores, decided *clickhouse.Store, m *manifest,
) (snapshot *postgres.Snapshot, err error) {
	hold, err := store.Archive.HoldArchive(p.Ctx, c.Wait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hold.Release(p.Ctx)) }()
	owner, err := c.Owner.Or(c.Postgres)
	if err != nil {
		return nil, err
	}
	if snapshot, err = postgres.TakeSnapshot(p.Ctx, owner); err != nil {
		return nil, err
	}
	if !maps.Equal(snapshot.Archive, hold.Archived()) {
		return snapshot, errors.New("the archive moved while it was held; try again")
	}
	tables, err := decided.Tables(p.Ctx)
	if err != nil {
		return snapshot, err
	}
	for _, table := range tables {
		t := tableFile{Table: table, backupFile: backupFile{Name: "clickhouse." + table + ".gob.gz"}}
		err := writeFile(filepath.Join(c.Dir, t.Name), &t.backupFile, func(w io.Writer) (err error) {
			t.Rows, err = decided.CopyOut(p.Ctx, table, w)
			return err
		})
		if err != nil {
			return snapshot, err
		}
		m.ClickHouse = append(m.ClickHouse, t)
	}
	return snapshot, hold.Check(p.Ctx)
}

func placesOf(offsets map[stream.Partition]int64) map[string]int64 {
	places := make(map[string]int64, len(offsets))
	for p, at := range offsets {
		places[fmt.Sprintf("%s/%d", p.Stream, p.Number)] = at
	}
	return places
}

// writeFile writes a compressed file and records its size and checksum.
func writeFile(path string, f *backupFile, fill func(io.Writer) error) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := &summing{w: out, hash: sha256.New()}
	packed := gzip.NewWriter(sum)
	if err := fill(packed); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	f.Bytes, f.SHA256 = sum.n, hex.EncodeToString(sum.hash.Sum(nil))
	return out.Sync()
}

type summing struct {
	w    io.Writer
	hash hash.Hash
	n    int64
}

// Write implements io.Writer.
func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.hash.Write(b[:n])
	s.n += int64(n)
	return n, err
}

func sumOf(path string) (n int64, sum string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	all := sha256.New()
	n, err = io.Copy(all, in)
	return n, hex.EncodeToString(all.Sum(nil)), err
}

func writeManifest(dir string, m manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, manifestName+".part")
	if err := os.WriteFile(temporary, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, manifestName))
}

// readManifest reads a backup's manifest and checks every file against it.
func readManifest(dir string) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return m, fmt.Errorf("%s is not a complete backup: %w", dir, err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Format != 1 {
		return m, fmt.Errorf("%s: this version does not support format %d", manifestName, m.Format)
	}
	files := []backupFile{m.Postgres.File}
	for _, t := range m.ClickHouse {
		files = append(files, t.backupFile)
	}
	for _, f := range files {
		if f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") {
			return m, fmt.Errorf("%s names the file %q", manifestName, f.Name)
		}
		n, sum, err := sumOf(filepath.Join(dir, f.Name))
		if err != nil {
			return m, err
		}
		if n != f.Bytes || sum != f.SHA256 {
			return m, fmt.Errorf(
				"%s is damaged: it has %d bytes and sum %s, not %d and %s", f.Name, n, sum, f.Bytes, f.SHA256,
			)
		}
	}
	return m, nil
}

// Restore is `adnet restore`.
type Restore struct {
	Money      backends.Money       `embed:"" set:"prepaid=required"`
	Postgres   postgres.Config      `embed:""`
	Owner      postgres.OwnerConfig `embed:""`
	Client     postgres.Client      `embed:""`
	ClickHouse clickhouse.Config    `embed:""`
	Redis      redis.Config         `embed:""`
	Kafka      kafka.Config         `embed:""`
	Dir        string               `name:"dir" required:"" help:"Folder written by backup."`
	Force      bool                 `name:"force" help:"Overwrite stores that are not empty; their data is lost."`
	TokenKeys  string               `name:"token-keys" env:"ADNET_TOKEN_KEYS" secret:"" help:"Keys that seal campaigns in Redis; without them the consumers fill Redis at their start."`
}

// Run restores ClickHouse, then PostgreSQL in one transaction, then rewrites Redis. Stop ingress
// and consumers first. The consumers then continue in Kafka from the restored offsets: no record
// that Kafka still has is lost or applied twice.
func (c *Restore) Run(p cli.Process) error {
	m, err := readManifest(c.Dir)
	if err != nil {
		return err
	}
	owner, err := c.Owner.Or(c.Postgres)
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Fprintln(p.Stdout, line) }
	if _, err := clickhouse.Migrate(p.Ctx, c.ClickHouse); err != nil {
		return err
	}
	decided, err := backends.OpenClickHouse(p.Ctx, p.Log, c.ClickHouse)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "ClickHouse", decided.Close)
	if err := c.refuseFilled(p.Ctx, owner, decided); err != nil {
		return err
	}
	if err := decided.Clear(p.Ctx); err != nil {
		return err
	}
	for _, t := range m.ClickHouse {
		if err := c.load(p.Ctx, decided, t); err != nil {
			return fmt.Errorf("restore %s: %w", t.Table, err)
		}
	}
	if err := c.Client.Load(p.Ctx, owner, filepath.Join(c.Dir, m.Postgres.File.Name)); err != nil {
		return err
	}
	if err := postgres.Migrate(p.Ctx, owner, say); err != nil {
		return err
	}
	if err := postgres.Grant(p.Ctx, owner, c.Postgres.URL, say); err != nil {
		return err
	}
	if err := kafka.EnsureTopics(p.Ctx, c.Kafka, kafka.Deps{Log: p.Log}); err != nil {
		return err
	}
	return c.finish(p, m, decided)
}

func (c *Restore) load(ctx context.Context, decided *clickhouse.Store, t tableFile) error {
	in, err := os.Open(filepath.Join(c.Dir, t.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	n, err := decided.CopyIn(ctx, t.Table, plain)
	if err == nil && n != t.Rows {
		err = fmt.Errorf("%d rows, not %d", n, t.Rows)
	}
	return err
}

// refuseFilled keeps a restore from overwriting an installation by mistake.
func (c *Restore) refuseFilled(ctx context.Context, owner string, decided *clickhouse.Store) error {
	if c.Force {
		return nil
	}
	empty, err := postgres.Empty(ctx, owner)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New(
			"PostgreSQL is not empty: restore into an empty database, or use --force to lose its data",
		)
	}
	tables, err := decided.Tables(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		n, err := decided.Rows(ctx, table)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf(
				"ClickHouse is not empty (%s): restore into an empty database, or use --force to lose its data",
				table,
			)
		}
	}
	return nil
}

// finish writes Redis from the restored PostgreSQL, records the restore, and checks the result.
func (c *Restore) finish(p cli.Process, m manifest, decided *clickhouse.Store) error {
	store, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	for table, want := range m.Postgres.Rows {
		if _, held := map[string]bool{"archive_hold": true, "schema_migration": true}[table]; held {
			continue
		}
		n, err := store.Retention.CountRows(p.Ctx, table)
		if err != nil {
			return err
		}
		if n < want {
			return fmt.Errorf("PostgreSQL table %s has %d rows after the restore, the backup had %d", table, n, want)
		}
	}
	cache, err := backends.OpenRedis(p.Ctx, p.Log, c.Redis)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "Redis", cache.Close)
	if err := refillRedis(p, refill{store: store, cache: cache, funds: c.Money, keys: c.TokenKeys}); err != nil {
		return err
	}
	err = store.Audit.RecordAudit(p.Ctx,
		auditlog.Entry{TargetKind: auditlog.TargetStore, TargetID: "restore", Changes: map[string]auditlog.Change{
			"backup": {After: m.MadeAt.Format(time.RFC3339)},
		}})
	if err != nil {
		return err
	}
	checks, err := Promises(p.Ctx, servers(store, decided), c.Money, 0)
	if err != nil {
		return err
	}
	for _, place := range slices.Sorted(maps.Keys(m.Offsets)) {
		fmt.Fprintf(p.Stdout, "restore: consumers go on at %s offset %d\n", place, m.Offsets[place])
	}
	fmt.Fprintf(p.Stdout, "restore: of the backup of %s\n", m.MadeAt.Format(time.DateTime))
	if !printChecks(p.Stdout, checks) {
		return cli.ErrExit
	}
	return nil
}
