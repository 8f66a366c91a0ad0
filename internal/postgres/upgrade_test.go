package postgres

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/storetest"
	"adnet/internal/stream"
	"adnet/internal/testenv"
	schema "adnet/schemas/postgres"
)

// A database that an earlier build filled is brought to this build's schema from each version since
// the hash chain: it passes the audit, settlement goes on, and a case that was open is clawed back.
func TestFilledDatabaseUpgrades(t *testing.T) {
	names, err := fs.Glob(schema.Migrations, "*.sql")
	require.NoError(t, err)
	for _, next := range names[5:] {
		t.Run("before "+next, func(t *testing.T) {
			owner := testenv.Postgres(t)
			conn, err := pgx.Connect(t.Context(), owner)
			require.NoError(t, err)
			require.NoError(t, migrate(t.Context(), conn, migrationsBefore(t, next), func(string) {}))
			old := fillOldDatabase(t, conn, next)
			if next > "0012" { // the claw-backs as 0011 converted them
				_, err := conn.Exec(t.Context(), namedClawbacks)
				require.NoError(t, err)
			}
			if next > "0017" { // the Credits as 0016 converted them
				convert(t, conn, "0016_credits.sql", convertsCredits)
			}
			if next > "0025" { // the seats as 0024 converted them
				convert(t, conn, "0024_seats.sql", convertsSeats)
			}
			require.NoError(t, Migrate(t.Context(), owner, func(string) {}))
			app := testenv.PostgresApp(t, owner)
			require.NoError(t, Grant(t.Context(), owner, app, func(string) {}))
			s, err := Open(t.Context(), Config{URL: app, MaxConns: 4})
			require.NoError(t, err)
			t.Cleanup(s.Close)
			requireVerified(t, s)
			old.hasSeat(t, s)
			old.goesOn(t, s)
			requireVerified(t, s)
		})
	}
}

// convert runs the part of a migration that converts what is there, from its first words on.
func convert(t *testing.T, conn *pgx.Conn, migration, from string) {
	t.Helper()
	text, err := schema.Migrations.ReadFile(migration)
	require.NoError(t, err)
	_, conversion, found := strings.Cut(string(text), from)
	require.True(t, found)
	_, err = conn.Exec(t.Context(), from+conversion)
	require.NoError(t, err)
}

func requireVerified(t *testing.T, s *Store) {
	t.Helper()
	checks, err := s.Verify(t.Context(), ledger.VerifyOptions{Prepaid: true})
	require.NoError(t, err)
	for _, c := range checks {
		require.Truef(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

// oldDatabase holds the contents that fillOldDatabase wrote.
type oldDatabase struct {
	campaign, advertiser, developer uuid.UUID
	open                            uuid.UUID // case; zero before there were any
	stream                          stream.Partition
}

const (
	oldPrice = 5_000
	oldViews = 4
)

// The beginnings of the parts of 0016_credits.sql and 0024_seats.sql that convert what is there.
const (
	convertsCredits = "UPDATE publisher_day SET gone = minted;"
	convertsSeats   = "CREATE TEMP TABLE split ON COMMIT DROP"
)

// namedClawbacks converts the contents of fillOldDatabase to those of a build since
// 0011_clawbacks.sql.
const namedClawbacks = `
INSERT INTO ledger_reversal (transaction_id, reverses, amount)
SELECT back.id, held.transaction_id, held.amount
FROM ledger_transaction back JOIN ledger_entry held ON held.account = 'held:' || back.ref AND held.asset = 'CREDIT'
	AND held.amount > 0
WHERE back.kind = 'mint_clawback';
UPDATE campaign_total SET refunded = 5000 WHERE EXISTS (SELECT FROM ledger_transaction WHERE kind = 'traffic_refund'
	AND subject = campaign_id)`

// fillOldDatabase writes, in plain SQL, what a build before the migration next would have: a
// payment with a refund, a campaign, four charged impressions, a record that could not be decoded,
// an insert into the analytics store that is under way, and, with quarantine, a case that was
// clawed back and one that is open, an impression each.
func fillOldDatabase(t *testing.T, conn *pgx.Conn, next string) oldDatabase {
	t.Helper()
	quarantine := next > "0008"
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	id := func() uuid.UUID { return uuid.Must(uuid.NewV7()) }
	old := oldDatabase{campaign: id(), advertiser: id(), developer: id(), stream: stream.Partition{Stream: "b2b2"}}
	exec(
		`INSERT INTO app_user VALUES ($1, $2, 'a@example.com', 'x', 'advertiser', false, 1, now())`, old.advertiser,
		id(),
	)
	exec(`INSERT INTO campaign (id, advertiser_id, name, status, format, headline, subtext, media_url, poster_url,
		cta_label, cta_url, skippable_after_sec,
		billing_model, bid_amount, daily_budget, total_budget, target_cpa, optimization_goal, credit_funded,
			target_intent_tokens, target_keywords,
		target_active_tools, target_host_apps, target_surfaces, target_integration_methods, target_regions,
			target_languages, policy_violations,
		config_version, created_at, updated_at)
		VALUES ($1, $2, 'old', 'active', 'native', 'h', 's', '', '', 'c', 'https://example.com', 0, 'cpm', 5000000,
			1000000, 9000000, 0, 'clicks', false,
		'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '[]', 2, now(), now())`, old.campaign, old.advertiser)
	exec(`UPDATE config_head SET version = 2`)

	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond)
	var ended uuid.UUID
	mints := []ledger.Account{ledger.DeveloperCredits(old.developer), ledger.DeveloperCredits(old.developer)}
	if quarantine {
		old.open, ended = id(), id()
		exec(`INSERT INTO quarantine (id, developer_id, rule, evidence, opened_at, decision, decided_at, decided_by)
			VALUES
			($1, $3, 'manual', '{}', now(), NULL, NULL, NULL), ($2, $3, 'manual', '{}', now(), 'clawback', now(),
				$3)`, old.open, ended, old.developer)
		exec(`INSERT INTO quarantine_charge VALUES ($1, $3, 5000), ($2, $3, 5000)`, old.open, ended, old.campaign)
		mints = append(mints, ledger.HeldCredits(old.open), ledger.HeldCredits(ended))
	} else {
		mints = append(mints, mints...)
	}
	cash := ledger.AdvertiserCash(old.advertiser)
	move := func(
		kind ledger.Kind, ref string, asset ledger.Asset, from, to ledger.Account, amount int64,
	) ledger.Transaction {
		return ledger.Transaction{ID: id(), Kind: kind, Ref: ref, Subject: old.campaign, At: at,
			Entries: []ledger.Entry{
				{Account: from, Asset: asset, Amount: -amount}, {Account: to, Asset: asset, Amount: amount},
			}}
	}
	written := []ledger.Transaction{move(ledger.KindDeposit, "stripe:p", ledger.USD, ledger.Deposits, cash, 1_000_000)}
	written = append(written, move(ledger.KindRefund, "stripe:p#1", ledger.USD, cash, ledger.Deposits, 200_000))
	written[1].Reverses = written[0].ID
	written = append(
		written, move(ledger.KindCharge, "b2b2/0:0-5", ledger.USD, cash, ledger.Revenue, oldViews*oldPrice),
	)
	for i, account := range mints {
		written = append(written, move(ledger.KindMint, string(rune('a'+i)), ledger.Credit, ledger.Mint, account, 1))
	}
	if quarantine {
		written = append(written, move(
			ledger.KindMintClawback, ended.String(), ledger.Credit, ledger.HeldCredits(ended), ledger.Mint, 1,
		),
			move(ledger.KindTrafficRefund, ended.String(), ledger.USD, ledger.Revenue, cash, oldPrice))
	}
	writeOldLedger(t, conn, written)
	seat := sha256.Sum256([]byte("seat"))
	exec(`INSERT INTO api_key (id, owner_id, developer_id, kind, name, prefix, hash, created_at) VALUES ($1, $2, $3, 'seat', 'exchange', 'seat_live_ab', $4, now())`,
		id(), old.advertiser, old.developer, seat[:])
	deposit := id()
	exec(`INSERT INTO deposit VALUES ($1, $2, 'stripe', 'c', 1000000, '', now())`, deposit, old.advertiser)
	exec(
		`INSERT INTO payment (provider, payment_id, deposit_id, paid, refund_sum, reversed) VALUES ('stripe', 'p', $1, 1000000, 200000, 200000)`, deposit,
	)

	outcomes := []ledger.Outcome{{Verdict: ledger.Poison}}
	date := day.Of(at)
	exec(`SELECT billed_event_add_day($1)`, int32(date))
	for i := range oldViews {
		o := ledger.Outcome{Verdict: ledger.OK, Charge: oldPrice, Minted: 1}
		if quarantine && i >= oldViews/2 {
			o.Credit = ledger.CreditHeld
		}
		outcomes = append(outcomes, o)
		exec(`INSERT INTO billed_event VALUES ($1, $2, 'impression')`, int32(date), id())
	}
	exec(`INSERT INTO consumer_offset VALUES ('b2b2', 0, 5)`)
	exec(`INSERT INTO applied_batch VALUES ('b2b2', 0, 0, 5, $1, now())`, encodeOutcomes(nil, outcomes))
	exec(
		`INSERT INTO dlq (stream, partition, record_offset, problem, raw, at) VALUES ('b2b2', 0, 0, 'not a protobuf event', 'x', now())`,
	)
	if next > "0013" {
		exec(`INSERT INTO archive_progress VALUES ('b2b2', 0, 0, 5, gen_random_uuid())`)
	} else {
		exec(`INSERT INTO archive_progress VALUES ('b2b2', 0, 0, 5)`)
	}
	exec(`INSERT INTO campaign_spend VALUES ($1, $2, $3, 1000000)`, old.campaign, int32(date), oldViews*oldPrice)
	exec(
		`UPDATE campaign_total SET spent = $2, total_budget = 9000000, version = 7 WHERE campaign_id = $1`,
		old.campaign, oldViews*oldPrice,
	)
	exec(
		`INSERT INTO reservation_released (campaign_id, minute, amount) VALUES ($1, $2, 5000)`, old.campaign,
		int32(day.MinuteOf(at)),
	)
	return old
}

func writeOldLedger(t *testing.T, conn *pgx.Conn, written []ledger.Transaction) {
	t.Helper()
	heads := make(map[ledger.Side]ledger.Head)
	links := ledger.Chain(heads, written)
	var batch pgx.Batch
	for _, w := range written {
		batch.Queue(`INSERT INTO ledger_transaction (id, kind, ref, subject, at, reverses) VALUES ($1, $2, $3, $4, $5, $6)`,
			w.ID, string(w.Kind), w.Ref, w.Subject, w.At, nullID(w.Reverses))
		of := func(l ledger.Link) bool { return l.Transaction == w.ID }
		a := links[slices.IndexFunc(links, of)]
		b := links[slices.IndexFunc(links, of)+1]
		batch.Queue(`INSERT INTO ledger_entry (transaction_id, leg, account, asset, amount, chain_seq, balance_after,
			at, hash)
			VALUES ($1, 0, $2, $4, $5, $7, $9, $11, $12), ($1, 1, $3, $4, $6, $8, $10, $11,
				$13)`, w.ID, string(a.Account), string(b.Account), string(a.Asset),
			a.Amount, b.Amount, a.Seq, b.Seq, a.Balance, b.Balance, w.At, a.Hash[:], b.Hash[:])
	}
	for side, head := range heads {
		batch.Queue(`INSERT INTO balance (account, asset, amount, chain_seq, hash) VALUES ($1, $2, $3, $4, $5)`,
			string(side.Account), string(side.Asset), head.Balance, head.Seq, head.Hash[:])
	}
	require.NoError(t, conn.SendBatch(t.Context(), &batch).Close())
}

// hasSeat says that the seat key of old became an account of its own, which a quarantine of its
// owner follows.
func (old oldDatabase) hasSeat(t *testing.T, s *Store) {
	t.Helper()
	k, disabled, err := s.KeyByHash(t.Context(), sha256.Sum256([]byte("seat")))
	require.NoError(t, err)
	require.False(t, disabled)
	owner, err := s.User(t.Context(), old.advertiser)
	require.NoError(t, err)
	require.Equal(t, []account.Seat{{ID: k.OwnerID, DeveloperID: k.DeveloperID}}, owner.Seats)
	require.NotEqual(t, old.developer, k.DeveloperID)
	seat, err := s.User(t.Context(), k.OwnerID)
	require.NoError(t, err)
	require.Equal(t, account.RoleSeat, seat.Role)
	require.Equal(t, old.advertiser, seat.ParentID)
	cases, err := s.Quarantines(t.Context(), ledger.QuarantineQuery{Developer: k.DeveloperID, Open: true, Limit: 2})
	require.NoError(t, err)
	require.Equal(t, old.open != uuid.Nil, len(cases) == 1)
}

// goesOn ends the insert that was under way, as it began, settles one impression more and ends the
// case that was open.
func (old oldDatabase) goesOn(t *testing.T, s *Store) {
	t.Helper()
	plan, err := s.NextPlan(t.Context(), []stream.Range{{Partition: old.stream, Next: 5}}, 1)
	require.NoError(t, err)
	require.Equal(t, "b2b2/0:0-5", plan.Plan().Token())
	require.NoError(t, s.MarkArchived(t.Context(), plan.Plan()))
	now := time.Now().UTC()
	batch := ledger.Batch{At: now, Prepaid: true, Runs: []ledger.Run{{
		Range: stream.Range{Partition: old.stream, First: 5, Next: 6},
		Records: []ledger.Record{{Event: ledger.Event{
			Type: ledger.Impression, Proof: ledger.Signed, ReceivedAt: now, AuctionID: uuid.Must(uuid.NewV7()),
			CampaignID:   old.campaign,
			AdvertiserID: old.advertiser, DeveloperID: old.developer, Price: oldPrice, BillingModel: campaign.CPM,
		}}},
	}}}
	outcome := applyBatch(t, s, batch).Applied[0].Outcomes[0]
	require.EqualValues(t, oldPrice, outcome.Charge)
	refunded := int64(0)
	if old.open != uuid.Nil {
		require.Equal(t, ledger.CreditHeld, outcome.Credit)
		_, err := s.EndQuarantine(
			t.Context(),
			ledger.QuarantineVerdict{
				Case: old.open, Decision: ledger.QuarantineClawback, By: old.advertiser, At: storetest.Now,
			},
		)
		require.NoError(t, err)
		refunded = 3 * oldPrice // of the case that had ended, and of this one before the upgrade and after it
	}
	var spent, back int64
	require.NoError(
		t,
		s.pool.QueryRow(
			t.Context(), `SELECT spent, refunded FROM campaign_total WHERE campaign_id = $1`, old.campaign,
		).Scan(&spent, &back),
	)
	require.Equal(t, []int64{(oldViews + 1) * oldPrice, refunded}, []int64{spent, back})
	c, err := s.Campaign(t.Context(), old.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(spent-back), c.SpentTotal)
}

// applyBatch settles a batch as the consumer does.
func applyBatch(t *testing.T, s *Store, b ledger.Batch) (effects ledger.Effects) {
	t.Helper()
	require.NoError(t, s.InTx(t.Context(), func(tx ledger.Tx) error {
		effects = settleIn(t.Context(), t, tx, b)
		return nil
	}))
	return effects
}

func settleIn(ctx context.Context, t *testing.T, tx ledger.Tx, b ledger.Batch) ledger.Effects {
	t.Helper()
	ranges := make([]stream.Range, len(b.Runs))
	for i := range b.Runs {
		ranges[i] = b.Runs[i].Range
	}
	require.NoError(t, tx.AdvanceOffsets(ctx, ranges))
	fresh, err := tx.MarkFirst(ctx, ledger.Candidates(b))
	require.NoError(t, err)
	books, err := tx.Books(ctx, ledger.NeedOf(b))
	require.NoError(t, err)
	effects := ledger.Decide(b, fresh, books)
	require.NoError(t, tx.Write(ctx, effects))
	return effects
}
