package campaigns

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/ranking"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

// Weights stores learned weights of the ranking.
type Weights struct{ *pg.Core }

const (
	// A change of a stage locks the table, so that it decides on the same rows that it changes.
	lockWeights   = `LOCK TABLE ranking_weights IN SHARE ROW EXCLUSIVE MODE`
	selectWeights = `SELECT number, stage, made_at, stage_at, report FROM ranking_weights ORDER BY number DESC LIMIT $1`
	insertWeights = `INSERT INTO ranking_weights (number, stage, made_at, stage_at, report, data)
		SELECT coalesce(max(number), 0) + 1, 'refused', $1, $1, $2, '' FROM ranking_weights RETURNING number`
	fillWeights = `UPDATE ranking_weights SET data = $2 WHERE number = $1`
	moveWeights = `UPDATE ranking_weights SET stage = $2, stage_at = $3, report = coalesce($4, report) WHERE number = $1`
	dropWeights = `DELETE FROM ranking_weights WHERE stage IN ('refused', 'retired') AND number <= $1`

	selectWeightState = `SELECT number, stage FROM ranking_weights WHERE stage IN ('shadow', 'part', 'all', 'live')`
	selectWeightData  = `SELECT data FROM ranking_weights WHERE number = $1`
)

// WeightState returns the state that nodes follow.
func (s *Weights) WeightState(ctx context.Context) (ranking.State, error) {
	rows, err := s.Pool.Query(ctx, selectWeightState)
	if err != nil {
		return ranking.State{}, pg.Failure("read weights", err)
	}
	versions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ranking.Version, err error) {
		return v, row.Scan(&v.Number, &v.Stage)
	})
	return ranking.StateOf(versions), pg.Failure("read weights", err)
}

// WeightData returns an encoded version. Errors: errs.NotFound.
func (s *Weights) WeightData(ctx context.Context, number int64) (data []byte, err error) {
	err = s.Pool.QueryRow(ctx, selectWeightData, number).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ranking.ErrUnknown
	}
	return data, pg.Failure("read weights", err)
}

// WeightVersions lists the latest versions, newest first, without their data.
func (s *Weights) WeightVersions(ctx context.Context, limit int) ([]ranking.Version, error) {
	return readWeights(ctx, s.Pool, limit)
}

func readWeights(ctx context.Context, q pg.Querier, limit int) ([]ranking.Version, error) {
	rows, err := q.Query(ctx, selectWeights, limit)
	if err != nil {
		return nil, pg.Failure("list weights", err)
	}
	versions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ranking.Version, err error) {
		err = row.Scan(&v.Number, &v.Stage, &v.MadeAt, &v.StageAt, &v.Report)
		v.MadeAt, v.StageAt = v.MadeAt.UTC(), v.StageAt.UTC()
		return v, err
	})
	return versions, pg.Failure("list weights", err)
}

// AddWeights stores a new version with the stage refused; encode writes it for its number.
func (s *Weights) AddWeights(
	ctx context.Context, at time.Time, report []byte, encode func(number int64) ([]byte, error),
) (number int64, err error) {
	err = s.Transact(ctx, "keep weights", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockWeights); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, insertWeights, at, report).Scan(&number); err != nil {
			return err
		}
		data, err := encode(number)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fillWeights, number, data); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, dropWeights, number-ranking.Retained)
		return err
	})
	return number, err
}

// MoveWeights applies the moves that decide returns for the stored versions, all or none. The
// change is audited.
func (s *Weights) MoveWeights(
	ctx context.Context, at time.Time, decide func([]ranking.Version) ([]ranking.Move, error),
) error {
	return s.Transact(ctx, "move weights", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockWeights); err != nil {
			return err
		}
		versions, err := readWeights(ctx, tx, ranking.Retained)
		if err != nil {
			return err
		}
		moves, err := decide(versions)
		if err == nil {
			err = ranking.Check(versions, moves)
		}
		if err != nil {
			return err
		}
		for _, m := range ranking.LeavingFirst(moves) {
			if _, err := tx.Exec(ctx, moveWeights, m.Number, m.To, at, m.Report); err != nil {
				return err
			}
		}
		return audit.Record(ctx, tx, auditlog.OfWeights(moves))
	})
}
