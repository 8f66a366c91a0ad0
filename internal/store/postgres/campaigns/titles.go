package campaigns

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/store/postgres/pg"
)

const selectTitles = `SELECT id, advertiser_id, name, headline FROM campaign WHERE id = ANY($1::uuid[])`

var _ campaign.TitleStore = (*Campaigns)(nil)

// Titles implements campaign.TitleStore.
func (s *Campaigns) Titles(ctx context.Context, ids []uuid.UUID) ([]campaign.Title, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.Pool.Query(ctx, selectTitles, ids[:min(len(ids), account.MaxNamed)])
	if err != nil {
		return nil, pg.Failure("read titles", err)
	}
	titles, err := pgx.CollectRows(rows, pgx.RowToStructByPos[campaign.Title])
	return titles, pg.Failure("read titles", err)
}
