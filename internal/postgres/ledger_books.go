package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	lockTotalsSQL = `
SELECT campaign_id, spent FROM campaign_total WHERE campaign_id = ANY($1::uuid[]) ORDER BY campaign_id FOR UPDATE`

	shareCampaignsSQL = `
SELECT c.id, c.advertiser_id, u.developer_id, c.billing_model, c.bid_amount, c.daily_budget, c.total_budget, c.credit_funded
FROM campaign c JOIN app_user u ON u.id = c.advertiser_id
WHERE c.id = ANY($1::uuid[]) ORDER BY c.id FOR SHARE OF c`

	readSpendSQL = `
SELECT campaign_id, day, amount FROM campaign_spend WHERE campaign_id = ANY($1::uuid[]) AND day = ANY($2::integer[])`

	readInactiveSQL = `
SELECT campaign_id, from_at, to_at FROM campaign_inactive
WHERE campaign_id = ANY($1::uuid[]) AND from_at < $3 AND (to_at IS NULL OR to_at > $2)
ORDER BY campaign_id, from_at`

	// One day at a time, so that the planner opens that day's partition only.
	readRecordedSQL = `
SELECT auction_id FROM billed_event
WHERE auction_day = $1 AND auction_id = ANY($2::uuid[]) AND event_type = $3`

	lockCashSQL = `
SELECT account, amount FROM balance WHERE account = ANY($1::text[]) AND asset = 'USD'
ORDER BY account, asset FOR UPDATE`
)

// Books locks and reads what the batch depends on.
//
// First the campaigns' totals, exclusively and by id: two appliers of one campaign take turns from here
// on, so neither spends what the other has not yet written. Then the campaigns themselves, shared and by id:
// a pause or an edit takes its campaign exclusively, so it has either committed before (and every later
// statement sees its inactive interval, because READ COMMITTED takes a new snapshot per statement) or waits until
// this batch has committed (and its interval starts, by the store's clock under that lock, after all that this
// batch charged). The totals come first so that at most one applier at a time holds or asks for the shared
// lock of a campaign. With the shared lock first, busy appliers hand it to each other past the waiting pause: ten
// changes against four appliers then took 70 to 150 rounds of each, and take 6 to 13 so (measured,
// storetest PauseGetsThrough).
//
// No deadlock: appliers take both tables in id order, totals before campaigns; a campaign change never waits
// for a total; balances come after both, also in order, here and in moveBalances.
func (b *batchTx) Books(ctx context.Context, need ledger.Need) (ledger.Books, error) {
	books := ledger.Books{Campaigns: make(map[uuid.UUID]*ledger.CampaignBook, len(need.Campaigns)), Horizon: b.horizon}
	if len(need.Campaigns) > 0 {
		if err := b.lockCampaigns(ctx, need, &books); err != nil {
			return ledger.Books{}, err
		}
	}
	if err := b.lockPublishers(ctx, need, &books); err != nil {
		return ledger.Books{}, err
	}
	if need.Prepaid {
		if err := b.lockCash(ctx, &books); err != nil {
			return ledger.Books{}, err
		}
	}
	var err error
	books.Clicked, err = b.recorded(ctx, need.Clicks, ledger.Click)
	return books, err
}

func (b *batchTx) lockCampaigns(ctx context.Context, need ledger.Need, books *ledger.Books) error {
	ids := rawIDs(need.Campaigns)
	rows, err := b.tx.Query(ctx, lockTotalsSQL, ids)
	if err != nil {
		return fmt.Errorf("lock campaign totals: %w", err)
	}
	totals := make(map[[16]byte]int64, len(ids))
	var id [16]byte
	var amount int64
	if _, err = pgx.ForEachRow(rows, []any{&id, &amount}, func() error { totals[id] = amount; return nil }); err != nil {
		return fmt.Errorf("lock campaign totals: %w", err)
	}
	if err := b.shareCampaigns(ctx, ids, books); err != nil {
		return err
	}
	for id, book := range books.Campaigns {
		spent, ok := totals[id]
		if !ok { // it cannot be charged safely without its lock
			return fmt.Errorf("campaign %s has no total", id)
		}
		book.SpentTotal = money.Micros(spent)
	}
	return b.readHistory(ctx, need, books)
}

func (b *batchTx) shareCampaigns(ctx context.Context, ids [][16]byte, books *ledger.Books) error {
	rows, err := b.tx.Query(ctx, shareCampaignsSQL, ids)
	if err != nil {
		return fmt.Errorf("lock campaigns: %w", err)
	}
	var id, advertiser, developer [16]byte
	var c ledger.CampaignBook
	fields := []any{&id, &advertiser, &developer, &c.BillingModel, &c.Bid, &c.DailyBudget, &c.TotalBudget, &c.CreditFunded}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		book := c
		book.AdvertiserID, book.DeveloperID = advertiser, developer
		book.SpentOn = make(map[ledger.Day]money.Micros, 2)
		books.Campaigns[id] = &book
		return nil
	})
	if err != nil {
		return fmt.Errorf("lock campaigns: %w", err)
	}
	return nil
}

// readHistory reads the spend and the inactive intervals of the days, in one round trip. Only intervals that
// overlap the days can cover an event of the batch.
func (b *batchTx) readHistory(ctx context.Context, need ledger.Need, books *ledger.Books) error {
	if len(need.Days) == 0 {
		return nil
	}
	ids, days := rawIDs(need.Campaigns), make([]int32, len(need.Days))
	for i, day := range need.Days {
		days[i] = int32(day)
	}
	from, to := need.Days[0].Time(), (need.Days[len(need.Days)-1] + 1).Time()
	var batch pgx.Batch
	batch.Queue(readSpendSQL, ids, days).Query(func(rows pgx.Rows) error {
		var id [16]byte
		var day int32
		var amount int64
		_, err := pgx.ForEachRow(rows, []any{&id, &day, &amount}, func() error {
			if book := books.Campaigns[id]; book != nil {
				book.SpentOn[ledger.Day(day)] = money.Micros(amount)
			}
			return nil
		})
		return err
	})
	batch.Queue(readInactiveSQL, ids, from, to).Query(func(rows pgx.Rows) error {
		var id [16]byte
		var since time.Time
		var until *time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, &since, &until}, func() error {
			interval := ledger.Interval{From: since.UTC()}
			if until != nil {
				interval.To = until.UTC()
			}
			if book := books.Campaigns[id]; book != nil {
				book.Inactive = append(book.Inactive, interval)
			}
			return nil
		})
		return err
	})
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("read campaign history: %w", err)
	}
	return nil
}

// lockCash reads the balances that cash campaigns pay from. A balance without a row is 0: nothing is
// charged to it, and the deposit that creates it is seen by the next batch.
func (b *batchTx) lockCash(ctx context.Context, books *ledger.Books) error {
	owners := make(map[string]uuid.UUID)
	for _, book := range books.Campaigns {
		if !book.CreditFunded {
			owners[string(ledger.AdvertiserCash(book.AdvertiserID))] = book.AdvertiserID
		}
	}
	books.Balances = make(map[uuid.UUID]money.Micros, len(owners))
	if len(owners) == 0 {
		return nil
	}
	accounts := make([]string, 0, len(owners))
	for account := range owners {
		accounts = append(accounts, account)
	}
	rows, err := b.tx.Query(ctx, lockCashSQL, accounts)
	if err != nil {
		return fmt.Errorf("lock balances: %w", err)
	}
	var account string
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&account, &amount}, func() error {
		books.Balances[owners[account]] = money.Micros(amount)
		return nil
	})
	if err != nil {
		return fmt.Errorf("lock balances: %w", err)
	}
	return nil
}

// recorded finds the auctions that have a recorded event of a type.
func (b *batchTx) recorded(ctx context.Context, auctions []uuid.UUID, of ledger.EventType) (map[uuid.UUID]bool, error) {
	found := make(map[uuid.UUID]bool)
	if len(auctions) == 0 {
		return found, nil
	}
	byDay := make(map[ledger.Day][][16]byte)
	for _, id := range auctions {
		day := ledger.AuctionDay(id)
		byDay[day] = append(byDay[day], id)
	}
	var batch pgx.Batch
	for _, day := range sortedDays(byDay) {
		batch.Queue(readRecordedSQL, int32(day), byDay[day], string(of)).Query(func(rows pgx.Rows) error {
			var id [16]byte
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error { found[id] = true; return nil })
			return err
		})
	}
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read recorded events of type %s: %w", of, err)
	}
	return found, nil
}

func sortedDays[V any](m map[ledger.Day]V) []ledger.Day {
	days := make([]ledger.Day, 0, len(m))
	for day := range m {
		days = append(days, day)
	}
	slices.Sort(days)
	return days
}
