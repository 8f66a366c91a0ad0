package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/storetest"
)

func TestLedgerConformance(t *testing.T) {
	storetest.RunLedger(t, func(t *testing.T) storetest.Ledger {
		s := openStore(t)
		return storetest.Ledger{
			Stores: storesOf(s), Settler: s.Ledger, Archive: s.Archive, Accounts: s.Ledger,
			Rooms: func(o reserve.RoomOptions) storetest.RoomReader { return s.Campaigns.RoomReader(o) },
			Deposit: func(ctx context.Context, id uuid.UUID, amount money.Micros) error {
				return storetest.Pay(ctx, s.Payments, id, amount)
			},
			Deposits: storetest.Deposits{Store: s.Payments, Statements: s.Ledger}, Dead: s.dead,
			Corrupt: asOwner(t, s).corruptions(),
			Join: func(ctx context.Context, account, family uuid.UUID) error {
				_, err := asOwner(t, s).Pool.Exec(
					ctx, `INSERT INTO account_family (account_id, family_id) VALUES ($1, $2)`, account, family,
				)
				return err
			},
		}
	})
}

func (s *Stores) dead(ctx context.Context) ([]ledger.DeadLetter, error) {
	rows, err := s.Pool.Query(ctx, `SELECT stream, partition, record_offset, problem, raw FROM dlq ORDER BY 1, 2, 3`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (d ledger.DeadLetter, err error) {
		err = row.Scan(&d.Stream, &d.Number, &d.Offset, &d.Problem, &d.Raw)
		return d, err
	})
}

// corruptions damages tables behind the store's back, one way per check.
func (s *Stores) corruptions() map[string]func(context.Context) error {
	// Whatever guards the table is switched off for the damage only.
	sql := func(table, statement string) func(context.Context) error {
		return func(ctx context.Context) error {
			return s.Transact(ctx, "damage", func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, `ALTER TABLE `+table+` DISABLE TRIGGER USER`); err != nil {
					return err
				}
				tag, err := tx.Exec(ctx, statement)
				if err == nil && tag.RowsAffected() == 0 {
					err = fmt.Errorf("nothing was damaged by %s", statement)
				}
				if err != nil {
					return err
				}
				_, err = tx.Exec(ctx, `ALTER TABLE `+table+` ENABLE TRIGGER USER`)
				return err
			})
		}
	}
	entry := func(asset string) func(context.Context) error {
		return sql("ledger_entry", `UPDATE ledger_entry SET amount = amount + 5
			WHERE (transaction_id, leg) IN (SELECT transaction_id, leg FROM ledger_entry
				WHERE asset = '`+asset+`' LIMIT 1)`)
	}
	return map[string]func(context.Context) error{
		ledger.CheckSumUSD:    entry("USD"),
		ledger.CheckSumCredit: entry("CREDIT"),
		ledger.CheckTransactions: sql("ledger_entry", `DELETE FROM ledger_entry
			WHERE transaction_id = (SELECT id FROM ledger_transaction WHERE kind = 'charge' LIMIT 1)`),
		ledger.CheckBalances: sql(
			"balance", `UPDATE balance SET amount = amount + 1 WHERE account = 'house:revenue'`,
		),
		ledger.CheckRecords: sql(
			"applied_batch", `UPDATE applied_batch SET outcomes = substr(outcomes, 1, 3) WHERE first_offset = 0`,
		),
		ledger.CheckChargeVerdicts: s.reencode(func(o *ledger.Outcome) { o.Charge++ }),
		ledger.CheckChargeDays:     sql("campaign_spend", `UPDATE campaign_spend SET amount = amount + 1`),
		ledger.CheckChargeTotals:   sql("campaign_total", `UPDATE campaign_total SET spent = spent + 1`),
		ledger.CheckCampaigns: sql("campaign_total", `UPDATE campaign_total SET spent = spent + CASE
			WHEN campaign_id = (SELECT min(campaign_id::text)::uuid FROM campaign_total WHERE spent > 0) THEN -1
			WHEN campaign_id = (SELECT max(campaign_id::text)::uuid FROM campaign_total
				WHERE spent > 0) THEN 1 ELSE 0 END`),
		ledger.CheckChargedOK:     s.reencode(func(o *ledger.Outcome) { o.Verdict = ledger.VerdictPaused }),
		ledger.CheckChargedUnique: sql("billed_event", `DELETE FROM billed_event`),
		ledger.CheckMinted:        s.reencode(func(o *ledger.Outcome) { o.Minted++ }),
		ledger.CheckMintedUnique:  sql("billed_event", `DELETE FROM billed_event WHERE event_type = 'impression'`),
		ledger.CheckMarks: sql(
			"billed_event",
			`DELETE FROM billed_event WHERE auction_id = (SELECT auction_id FROM billed_event WHERE event_type NOT LIKE 'invalid%' LIMIT 1)`,
		),
		ledger.CheckClawbacks: sql(
			"ledger_transaction", `UPDATE ledger_transaction SET kind = 'mint_clawback' WHERE kind = 'deposit'`,
		),
		ledger.CheckReversed: sql("ledger_reversal", `INSERT INTO ledger_reversal
			SELECT gen_random_uuid(), id, 1000000000000 FROM ledger_transaction WHERE kind = 'charge' LIMIT 1`),
		ledger.CheckReopened:    sql("campaign_total", `UPDATE campaign_total SET refunded = 1 WHERE spent > 0`),
		ledger.CheckCredits:     sql("credit_lot", `UPDATE credit_lot SET amount = amount + 1000000000`),
		ledger.CheckCreditDays:  sql("credit_source", `UPDATE credit_source SET refunded = charged`),
		ledger.CheckCreditLots:  sql("credit_lot", `UPDATE credit_lot SET remaining = remaining - 1`),
		ledger.CheckDailyBudget: sql("campaign_spend", `UPDATE campaign_spend SET daily_budget = amount - 1`),
		ledger.CheckTotalBudget: sql(
			"campaign_total", `UPDATE campaign_total SET total_budget = spent - 1 WHERE spent > 0`,
		),
		ledger.CheckPrepaid: sql("balance", `UPDATE balance SET amount = -1 WHERE account LIKE 'advertiser:%'`),
		ledger.CheckGaps: sql("applied_batch", `DELETE FROM applied_batch
			WHERE first_offset > 0 AND next_offset NOT IN (SELECT max(next_offset) FROM applied_batch
				GROUP BY stream, partition)`),
		ledger.CheckOffsets: sql("consumer_offset", `UPDATE consumer_offset SET next_offset = next_offset + 1`),
		ledger.CheckArchive: sql("archive_progress", `INSERT INTO archive_progress VALUES ('a1b2c3', 0, 1000000, NULL)
			ON CONFLICT (stream, partition) DO UPDATE SET archived_next = 1000000, planned_to = NULL, plan = NULL`),
		ledger.CheckDead: sql("dlq", `DELETE FROM dlq`),
		ledger.CheckChain: sql(
			"ledger_transaction",
			`UPDATE ledger_transaction SET at = at + interval '1 microsecond' WHERE kind = 'deposit'`,
		),
		ledger.CheckRights: func(ctx context.Context) error {
			_, err := s.Pool.Exec(ctx, `GRANT UPDATE (amount) ON ledger_entry TO adnet_test_app`)
			return err
		},
		ledger.CheckDeposits: sql("payment", `UPDATE payment SET paid = paid + 1`),
	}
}

// reencode changes every charged outcome of the applied ranges.
func (s *Stores) reencode(change func(*ledger.Outcome)) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.Transact(ctx, "damage", func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `SELECT ctid::text, outcomes FROM applied_batch`)
			if err != nil {
				return err
			}
			changed := make(map[string][]byte)
			var ctid string
			var packed []byte
			_, err = pgx.ForEachRow(rows, []any{&ctid, &packed}, func() error {
				outcomes, err := books.DecodeOutcomes(nil, packed)
				for i := range outcomes {
					if outcomes[i].Charge > 0 {
						change(&outcomes[i])
					}
				}
				changed[ctid] = books.EncodeOutcomes(nil, outcomes)
				return err
			})
			for ctid, packed := range changed {
				if err == nil {
					_, err = tx.Exec(ctx, `UPDATE applied_batch SET outcomes = $2 WHERE ctid = $1::tid`, ctid, packed)
				}
			}
			return err
		})
	}
}

// The database itself refuses writes that Go code already refuses, so that no other client can make
// them either.
func TestLedgerTablesGuardThemselves(t *testing.T) {
	s := asOwner(t, openStore(t))
	u := storetest.AddUser(t, storesOf(s))
	require.NoError(t, storetest.Pay(t.Context(), s.Payments, u.ID, 5))
	for statement, want := range map[string]string{
		`UPDATE ledger_entry SET amount = 6`:  "append only",
		`DELETE FROM ledger_transaction`:      "append only",
		`TRUNCATE ledger_entry`:               "append only",
		`UPDATE payment_event SET amount = 6`: "append only",
		`DELETE FROM statement_close`:         "append only",
		`INSERT INTO ledger_entry (transaction_id, leg, account, asset, amount, chain_seq, balance_after, at, hash)
			VALUES (gen_random_uuid(), 0, 'house:revenue', 'USD', 1, 1, 1, now(), sha256(''))`: "sum to zero",
	} {
		_, err := s.Pool.Exec(t.Context(), statement)
		require.ErrorContains(t, err, want, statement)
	}
}

// A batch that commits after a later one was read must still be found by the next read.
func TestRoomsSurviveCommitOrder(t *testing.T) {
	s := openStore(t)
	stores := storesOf(s)
	owner := storetest.AddUser(t, stores)
	slow := storetest.AddCampaign(t, stores, owner.ID, campaign.Active)
	quick := storetest.AddCampaign(t, stores, owner.ID, campaign.Active)
	reader := s.Campaigns.RoomReader(reserve.RoomOptions{})
	_, cursor, err := reader.Rooms(t.Context(), 0)
	require.NoError(t, err)

	spend := func(tx pgx.Tx, id uuid.UUID) {
		var batch pgx.Batch
		require.NoError(
			t, books.QueueSpend(&batch, ledger.Effects{Spend: []ledger.Spend{{CampaignID: id, Day: 1, Amount: 5}}}),
		)
		require.NoError(t, tx.SendBatch(t.Context(), &batch).Close())
	}
	early, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	spend(early, slow.ID)
	require.NoError(t, s.Transact(t.Context(), "later", func(tx pgx.Tx) error { spend(tx, quick.ID); return nil }))
	rooms, cursor, err := reader.Rooms(t.Context(), cursor)
	require.NoError(t, err)
	// and more, while other databases of the server have transactions open
	require.Contains(t, roomIDs(rooms), quick.ID)
	require.NoError(t, early.Commit(t.Context()))
	rooms, cursor, err = reader.Rooms(t.Context(), cursor)
	require.NoError(t, err)
	require.Contains(t, roomIDs(rooms), slow.ID)

	rooms, _, err = reader.Rooms(t.Context(), cursor+1_000_000_000) // of another server
	require.NoError(t, err)
	require.Len(t, rooms, 2)
}

func roomIDs(rooms []reserve.Room) []uuid.UUID {
	var ids []uuid.UUID
	for _, r := range rooms {
		ids = append(ids, r.CampaignID)
	}
	return ids
}

// A partition that was dropped while the store remembered it comes back with the second try.
func TestDroppedPartitionComesBack(t *testing.T) {
	s := openStore(t)
	key := ledger.Key{Day: 20000, Auction: uuid.New(), Type: ledger.Click}
	mark := func() error {
		return s.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
			_, err := tx.MarkFirst(t.Context(), []ledger.Key{key})
			return err
		})
	}
	require.NoError(t, mark())
	_, err := asOwner(t, s).Pool.Exec(t.Context(), `DROP TABLE billed_event_20000`)
	require.NoError(t, err)
	require.Error(t, mark())
	require.NoError(t, mark())
}

// Settlement with one connection must not wait for a second one to make a partition.
func TestPartitionNeedsNoSecondPooledConnection(t *testing.T) {
	s := openStore(t)
	config := s.Pool.Config()
	alone, err := Open(t.Context(), Config{URL: config.ConnString(), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(alone.Close)
	require.NoError(t, alone.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		_, err := tx.MarkFirst(t.Context(), []ledger.Key{{Day: 20001, Auction: uuid.New(), Type: ledger.Click}})
		return err
	}))
}
