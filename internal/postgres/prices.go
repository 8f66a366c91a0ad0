package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

const (
	selectHighestBids = `SELECT campaign_id, billing_model, bid FROM campaign_highest_bid`
	selectBidsSince   = `SELECT bids_since FROM price_proof`
)

// HighestBids lists the highest bid that each campaign ever had for each billing model. since is
// from when on charges can be held to them: bids of an earlier build may not be known.
func (s *Store) HighestBids(ctx context.Context) (bids []ledger.HighestBid, since time.Time, err error) {
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, selectBidsSince).Scan(&since); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectHighestBids)
		if err != nil {
			return err
		}
		bids, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b ledger.HighestBid, err error) {
			var id uuid.UUID
			var model string
			var bid int64
			err = row.Scan(&id, &model, &bid)
			return ledger.HighestBid{
				CampaignID: id, BillingModel: campaign.BillingModel(model), Bid: money.Micros(bid),
			}, err
		})
		return err
	})
	return bids, since.UTC(), failure("read highest bids", err)
}
