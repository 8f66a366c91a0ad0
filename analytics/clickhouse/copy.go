package clickhouse

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/google/uuid"

	"adnet/internal/errs"
)

// copyBlock is the number of rows held in memory at once.
const copyBlock = 20_000

// header starts a copied table: its columns, in the order of every block.
type header struct{ Columns, Types []string }

// Tables lists the tables that hold data, by name. A backup copies these. The sketches of the users
// of each term are not included; a restored store starts them anew.
func (s *Store) Tables(ctx context.Context) ([]string, error) {
	var rows []struct {
		Name string `ch:"name"`
	}
	err := s.Select(ctx, &rows,
		`SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
		AND name NOT IN ('schema_migrations', 'term_months') AND NOT startsWith(name, 'stats_rollup_staging_')
			AND NOT startsWith(name, 'events_rebuild_') AND NOT startsWith(name, 'restore_')
		ORDER BY name`, nil)
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}

// Rows counts the stored rows of a table.
func (s *Store) Rows(ctx context.Context, table string) (int64, error) {
	return s.count(ctx, "SELECT toInt64(count()) AS n FROM "+table)
}

// CopyOut writes a table as gob: a header, then blocks of a row count and one slice per column. A
// count of 0 ends the table. It returns the number of rows.
func (s *Store) CopyOut(ctx context.Context, table string, w io.Writer) (total int64, err error) {
	columns, err := s.columns(ctx, table)
	if err != nil {
		return 0, err
	}
	rows, err := s.conn.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	if err != nil {
		return 0, failure(err, "copy "+table)
	}
	defer func() { err = errors.Join(err, failure(rows.Close(), "copy "+table)) }()
	types := rows.ColumnTypes()
	head := header{Columns: columns}
	slices, row := make([]reflect.Value, len(types)), make([]any, len(types))
	for i, t := range types {
		head.Types = append(head.Types, t.DatabaseTypeName())
		slices[i] = reflect.MakeSlice(reflect.SliceOf(t.ScanType()), 0, copyBlock)
	}
	out := gob.NewEncoder(w)
	if err := out.Encode(head); err != nil {
		return 0, err
	}
	flush := func() error {
		n := slices[0].Len()
		if err := out.Encode(n); err != nil {
			return err
		}
		for i := range slices {
			if n > 0 {
				if err := out.EncodeValue(slices[i]); err != nil {
					return err
				}
			}
			slices[i] = slices[i].Slice(0, 0)
		}
		return nil
	}
	for rows.Next() {
		for i, t := range types {
			row[i] = reflect.New(t.ScanType()).Interface()
		}
		if err := rows.Scan(row...); err != nil {
			return 0, failure(err, "copy "+table)
		}
		for i := range row {
			slices[i] = reflect.Append(slices[i], reflect.ValueOf(row[i]).Elem())
		}
		if total++; slices[0].Len() == copyBlock {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return 0, failure(err, "copy "+table)
	}
	if slices[0].Len() > 0 {
		if err := flush(); err != nil {
			return 0, err
		}
	}
	return total, flush()
}

// CopyIn replaces a table's partitions by the output of CopyOut. Nothing is computed from the rows,
// because computed tables are copied as well: the rows are written to a table beside it, and each
// partition is replaced at once. It returns the number of rows.
func (s *Store) CopyIn(ctx context.Context, table string, r io.Reader) (total int64, err error) {
	staging := "restore_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if err := s.Exec(ctx, "CREATE TABLE "+staging+" AS "+table, nil); err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, s.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+staging+" SYNC", nil))
	}()
	if total, err = s.fillFrom(ctx, staging, r); err != nil {
		return 0, err
	}
	var parts []struct {
		ID string `ch:"partition_id"`
	}
	err = s.Select(
		ctx, &parts,
		`SELECT DISTINCT partition_id FROM system.parts WHERE database = currentDatabase() AND table = {table:String} AND active`, map[string]string{"table": staging},
	)
	for _, p := range parts {
		if err == nil {
			err = s.Exec(
				ctx, fmt.Sprintf("ALTER TABLE %s REPLACE PARTITION ID '%s' FROM %s", table, p.ID, staging), nil,
			)
		}
	}
	return total, err
}

func (s *Store) fillFrom(ctx context.Context, table string, r io.Reader) (total int64, err error) {
	in := gob.NewDecoder(r)
	var head header
	if err := in.Decode(&head); err != nil {
		return 0, fmt.Errorf("read %s: %w", table, err)
	}
	have, err := s.columns(ctx, table)
	if err != nil {
		return 0, err
	}
	for _, name := range head.Columns {
		if !identifier(name) || !contains(have, name) {
			return 0, errs.New(errs.InvalidState, "the backup has a column %q that this version does not know", name)
		}
	}
	settings := clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplicate": 0, "low_cardinality_allow_in_native_format": 0,
	})
	for {
		var n int
		if err := in.Decode(&n); err != nil {
			return 0, fmt.Errorf("read block: %w", err)
		}
		if n == 0 {
			return total, nil
		}
		batch, err := s.conn.PrepareBatch(
			clickhouse.Context(ctx, settings), "INSERT INTO "+table+" ("+strings.Join(head.Columns, ", ")+")",
		)
		if err != nil {
			return 0, failure(err, "restore")
		}
		for i := range head.Columns {
			values, err := readColumn(in, head.Types[i], batch.Columns()[i])
			if err != nil {
				return 0, errors.Join(fmt.Errorf("read column %s: %w", head.Columns[i], err), batch.Abort())
			}
			if err := batch.Column(i).Append(values); err != nil {
				return 0, errors.Join(failure(err, "restore column "+head.Columns[i]), batch.Abort())
			}
		}
		if err := batch.Send(); err != nil {
			return 0, failure(err, "restore")
		}
		total += int64(n)
	}
}

// readColumn reads a block's values of a column that had the type was when it was written. A sum
// that now has 128 bits may have had 64.
func readColumn(in *gob.Decoder, was string, is chcolumn.Interface) (any, error) {
	if was == "Int64" && is.Type() == "Int128" {
		var small []int64
		if err := in.Decode(&small); err != nil {
			return nil, err
		}
		large := make([]*big.Int, len(small))
		for i, n := range small {
			large[i] = big.NewInt(n)
		}
		return large, nil
	}
	values := reflect.New(reflect.SliceOf(is.ScanType()))
	err := in.DecodeValue(values)
	return values.Elem().Interface(), err
}

func contains(list []string, wanted string) bool {
	for _, s := range list {
		if s == wanted {
			return true
		}
	}
	return false
}

// Clear empties every table that holds data.
func (s *Store) Clear(ctx context.Context) error {
	tables, err := s.Tables(ctx)
	for _, table := range tables {
		if err == nil {
			err = s.Exec(ctx, "TRUNCATE TABLE "+table+" SYNC", nil)
		}
	}
	return err
}
