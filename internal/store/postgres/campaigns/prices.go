package campaigns

import (
	"context"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/pg"
)

const selectHighestBids = `SELECT campaign_id, billing_model, bid FROM campaign_highest_bid`

// HighestBids lists the highest bid of each campaign so far, for each billing model.
func (s *Campaigns) HighestBids(ctx context.Context) ([]ledger.HighestBid, error) {
	rows, err := s.Pool.Query(ctx, selectHighestBids)
	if err != nil {
		return nil, pg.Failure("read highest bids", err)
	}
	bids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b ledger.HighestBid, err error) {
		var bid int64
		err = row.Scan(&b.CampaignID, &b.BillingModel, &bid)
		b.Bid = money.Micros(bid)
		return b, err
	})
	return bids, pg.Failure("read highest bids", err)
}
