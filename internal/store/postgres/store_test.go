package postgres

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/accounts"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/campaigns"
	"adnet/internal/store/storetest"
	"adnet/internal/testenv"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Stores { return storesOf(openStore(t)) })
}

// openStore opens a migrated database of its own as the application does: as a role that owns
// nothing.
func openStore(t testing.TB) *Stores {
	t.Helper()
	owner := testenv.Postgres(t)
	app := testenv.PostgresApp(t, owner)
	require.NoError(t, Migrate(t.Context(), owner, func(string) {}))
	require.NoError(t, Grant(t.Context(), owner, app, func(string) {}))
	s, err := Open(t.Context(), Config{URL: app, MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// asOwner is a connection to the database of s as the role that owns the tables: for damage that
// the application's role could not do.
func asOwner(t testing.TB, s *Stores) *Stores {
	t.Helper()
	owner, err := Open(
		t.Context(),
		Config{URL: os.Getenv(testenv.EnvPostgres), MaxConns: 4}.database(s.Pool.Config().ConnConfig.Database),
	)
	require.NoError(t, err)
	t.Cleanup(owner.Close)
	return owner
}

// database is c for another database of the server.
func (c Config) database(name string) Config {
	target, err := url.Parse(c.URL)
	if err != nil {
		panic(err)
	}
	target.Path = "/" + name
	c.URL = target.String()
	return c
}

func storesOf(s *Stores) storetest.Stores {
	return storetest.Stores{
		Users: s.Accounts, Keys: s.Accounts, Blocks: s.Accounts, Publish: s.Accounts, Logins: s.Logins,
		Campaigns: s.Campaigns, Changes: s.Campaigns, Goals: s.Campaigns, Standings: s.Campaigns, Books: s.Ledger,
		Payments: s.Payments, Publishers: s.Publishers, Audit: s.Audit, AdReports: s.AdReports, Unproven: s.Traffic,
		Journal: s.Journal, Retention: s.Retention, Inside: inside{s}, Credits: credits{s},
	}
}

func personsOf(s *Stores) storetest.Persons {
	return storetest.Persons{
		Accounts: s.Accounts, Logins: s.Logins, Store: s.Campaigns, Books: s.Ledger, Audit: s.Audit,
		Payments: s.Payments, Publishers: s.Publishers,
	}
}

// inside shows the suite state of a store beyond its interfaces.
type inside struct{ s *Stores }

func (i inside) HighestBids(ctx context.Context) ([]ledger.HighestBid, error) {
	return i.s.Campaigns.HighestBids(ctx)
}

func (i inside) Inactive(ctx context.Context, id uuid.UUID) ([]ledger.Interval, error) {
	rows, err := i.s.Pool.Query(
		ctx, `SELECT from_at, to_at FROM campaign_inactive WHERE campaign_id = $1 ORDER BY seq`, id,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ledger.Interval, err error) {
		var to *time.Time
		if err = row.Scan(&v.From, &to); to != nil {
			v.To = *to
		}
		return v, err
	})
}

func (i inside) Reviews(ctx context.Context, id uuid.UUID) ([]campaign.Review, error) {
	rows, err := i.s.Pool.Query(
		ctx, `SELECT decision, notes, reviewer_id, at FROM campaign_review WHERE campaign_id = $1 ORDER BY seq`, id,
	)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r campaign.Review, err error) {
		err = row.Scan(&r.Decision, &r.Notes, &r.ReviewerID, &r.At)
		return r, err
	})
}

func (i inside) Spend(ctx context.Context, s ledger.Spend) error {
	_, err := i.s.Pool.Exec(ctx, `INSERT INTO campaign_spend (campaign_id, day, amount) VALUES ($1, $2, $3)
		ON CONFLICT (campaign_id, day) DO UPDATE
			SET amount = campaign_spend.amount + EXCLUDED.amount`, s.CampaignID, int32(s.Day), s.Amount)
	if err != nil {
		return err
	}
	_, err = i.s.Pool.Exec(ctx, `INSERT INTO campaign_total (campaign_id, spent) VALUES ($1, $2)
		ON CONFLICT (campaign_id) DO UPDATE SET spent = campaign_total.spent + EXCLUDED.spent`, s.CampaignID, s.Amount)
	return err
}

// credits is the Credits side of the ledger for the suite.
type credits struct{ s *Stores }

func (c credits) Grant(ctx context.Context, developer uuid.UUID, n money.Credits) error {
	id := uuid.New()
	return c.s.Transact(ctx, "grant", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO credit_lot (developer_id, day, value, until, long, amount, remaining)
			VALUES ($1, 0, $2, '-infinity', false, $3, $3)
			ON CONFLICT (developer_id, day, value, until, long) DO UPDATE SET amount = credit_lot.amount + $3,
				remaining = credit_lot.remaining + $3`,
			developer, int64(1000*money.USD), int64(n))
		if err != nil {
			return err
		}
		return books.InsertTransaction(ctx, tx, ledger.Transaction{
			ID: id, Kind: ledger.KindMint, Ref: id.String(), Subject: developer, At: time.Now(),
			Entries: []ledger.Entry{
				{Account: ledger.DeveloperCredits(developer), Asset: ledger.Credit, Amount: int64(n)},
				{Account: ledger.Mint, Asset: ledger.Credit, Amount: -int64(n)},
			},
		})
	})
}

func (c credits) Balance(ctx context.Context, a ledger.Account) (money.Credits, error) {
	var entries, balance int64
	err := c.s.Pool.QueryRow(ctx, `SELECT
		(SELECT coalesce(sum(amount), 0)::bigint FROM ledger_entry WHERE account = $1 AND asset = $2),
		(SELECT coalesce(sum(amount), 0)::bigint FROM balance WHERE account = $1
			AND asset = $2)`, string(a), string(ledger.Credit)).Scan(&entries, &balance)
	if err == nil && entries != balance {
		err = fmt.Errorf("balance of %s is %d, its entries sum to %d", a, balance, entries)
	}
	return money.Credits(balance), err
}

func (c credits) Transactions(ctx context.Context, kind ledger.Kind) ([]ledger.Transaction, error) {
	rows, err := c.s.Pool.Query(ctx, `SELECT t.id, t.kind, t.ref, t.subject, t.at, e.account, e.asset, e.amount
		FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id WHERE t.kind = $1
			ORDER BY t.id`, string(kind))
	if err != nil {
		return nil, err
	}
	var list []ledger.Transaction
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var t ledger.Transaction
		var e ledger.Entry
		if err := row.Scan(&t.ID, &t.Kind, &t.Ref, &t.Subject, &t.At, &e.Account, &e.Asset, &e.Amount); err != nil {
			return struct{}{}, err
		}
		if n := len(list); n == 0 || list[n-1].ID != t.ID {
			list = append(list, t)
		}
		last := &list[len(list)-1]
		last.Entries = append(last.Entries, e)
		return struct{}{}, nil
	})
	return list, err
}

func TestOpenNamesTheWrongSetting(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := listener.Addr().String()
	require.NoError(t, listener.Close())
	for _, c := range []struct {
		cfg  Config
		want []string
	}{
		{Config{MaxConns: 1}, []string{EnvURL, "not set"}},
		{
			Config{URL: "postgres://u:secret@" + dead + "/adnet", MaxConns: -1},
			[]string{"ADNET_POSTGRES_MAX_CONNS"},
		},
		{Config{URL: "postgres://u:secret@" + dead + "/adnet", MaxConns: 1}, []string{EnvURL, dead, `"adnet"`}},
		{Config{URL: "postgres://u:secret@127.0.0.1:port/adnet", MaxConns: 1}, []string{EnvURL}},
		{
			Config{URL: "postgres://u:secret@" + dead + "/adnet?default_query_exec_mode=exec", MaxConns: 1},
			[]string{EnvURL, "default_query_exec_mode=exec ", "cache_describe"},
		},
		{
			Config{URL: "postgres://u:secret@" + dead + "/adnet?default_query_exec_mode=simple_protocol", MaxConns: 1},
			[]string{EnvURL, "default_query_exec_mode=simple_protocol ", "cache_describe"},
		},
	} {
		_, err := Open(t.Context(), c.cfg)
		require.Error(t, err)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
		require.NotContains(t, err.Error(), "secret")
	}
	require.ErrorContains(t, Migrate(t.Context(), "", func(string) {}), EnvURL)
	err = Migrate(t.Context(), "postgres://u:secret@"+dead+"/adnet", func(string) {})
	require.ErrorContains(t, err, EnvURL)
	require.NotContains(t, err.Error(), "secret")
}

func TestFailuresCarryCodes(t *testing.T) {
	address := testenv.Postgres(t)
	s, err := Open(t.Context(), Config{URL: address, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Ping(t.Context()))

	_, err = s.Accounts.User(t.Context(), uuid.New())
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)
	require.Contains(t, errs.Of(err).Message, "adnet migrate")

	require.NoError(t, Migrate(t.Context(), address, func(string) {}))
	_, err = s.Accounts.UserByEmail(t.Context(), "a\x00b@example.com")
	require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)

	// Ended by an administrator in the middle of a transaction: the caller may try again.
	err = s.Transact(t.Context(), "test", func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	})
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Accounts.User(cancelled, uuid.New())
	require.ErrorIs(t, err, context.Canceled)

	s.Close()
	require.Error(t, s.Ping(t.Context()))
}

// TestPauseWaitsForSettlement proves the promise of UpdateCampaign with the lock that settlement
// takes.
func TestPauseWaitsForSettlement(t *testing.T) {
	s := openStore(t)
	stores := storesOf(s)
	c := storetest.AddCampaign(t, stores, storetest.AddUser(t, stores).ID, campaign.Active)

	paused := make(chan campaign.Campaign, 1)
	var settled time.Time
	require.NoError(t, s.Transact(t.Context(), "settle", func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT FROM campaign WHERE id = $1 FOR SHARE`, c.ID); err != nil {
			return err
		}
		go func() {
			got, _ := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
				e.Status = campaign.Paused
				return nil
			})
			paused <- got
		}()
		waitForLock(t, s)
		return tx.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&settled)
	}))
	got := <-paused
	require.Equal(t, campaign.Paused, got.Status)
	require.True(
		t, got.UpdatedAt.After(settled), "the pause began at %s, before settlement was done at %s", got.UpdatedAt,
		settled,
	)
	intervals, err := stores.Inside.Inactive(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, []ledger.Interval{{From: got.UpdatedAt}}, intervals)
}

// waitForLock returns once another session of the database waits for a lock.
func waitForLock(t *testing.T, s *Stores) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting > 0
	}, 30*time.Second, 2*time.Millisecond)
}

func TestHistoriesAreAppendOnly(t *testing.T) {
	s := asOwner(t, openStore(t))
	for _, sql := range []string{
		`DELETE FROM campaign_review`, `UPDATE campaign_review SET notes = ''`, `TRUNCATE campaign_review`,
	} {
		_, err := s.Pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "append only")
	}
}

// TestReadsUseIndexes looks at the plans of the queries that run often on a table that is worth an
// index.
func TestReadsUseIndexes(t *testing.T) {
	s := openStore(t)
	stores := storesOf(s)
	u := storetest.AddUser(t, stores)
	storetest.AddCampaign(t, stores, u.ID, campaign.Active)
	const rows = 20_000
	_, err := asOwner(t, s).Pool.Exec(t.Context(), fmt.Sprintf(`
		INSERT INTO app_user SELECT gen_random_uuid(), gen_random_uuid(), 'u' || n, '', 'advertiser', false, 0, now()
			FROM generate_series(1, 5000) n;
		CREATE TEMP TABLE many AS SELECT c.*, n FROM campaign c, generate_series(%[2]d + 2, %[1]d) n;
		CREATE TEMP TABLE owner AS SELECT row_number() OVER () AS n, id FROM app_user;
		UPDATE many SET id = gen_random_uuid(), config_version = many.n, advertiser_id = owner.id,
			status = (ARRAY['active', 'paused'])[1 + (many.n %% 50 = 0)::int],
				created_at = now() - many.n * interval '1 s'
			FROM owner WHERE owner.n = 1 + many.n %% 5000;
		ALTER TABLE many DROP COLUMN n;
		INSERT INTO campaign SELECT * FROM many;
		UPDATE config_head SET version = %[1]d;
		ANALYZE`, rows, storetest.FirstHead))
	require.NoError(t, err)
	where := func(f campaign.Filter) (string, []any) {
		w, args := campaigns.Conditions(f, []any{20, 0})
		return campaigns.SelectCampaigns + w + campaigns.OrderNewestFirst, args
	}
	byOwner, ownerArgs := where(campaign.Filter{AdvertiserID: u.ID})
	byStatus, statusArgs := where(campaign.Filter{Status: campaign.Paused})
	all, allArgs := where(campaign.Filter{})
	for _, q := range []struct {
		sql   string
		args  []any
		index string
	}{
		{campaigns.SelectChanged, []any{int64(rows - 10), 100}, "campaign_config_version_key"},
		{campaigns.SelectChanged, []any{int64(0), 1000}, "campaign_config_version_key"},
		{byOwner, ownerArgs, "campaign_by_advertiser"},
		{byStatus, statusArgs, "campaign_by_status"},
		{all, allArgs, "campaign_by_age"},
		{campaigns.HasCampaign, []any{u.ID}, "campaign_by_advertiser"},
		{accounts.SelectUserByEmail, []any{u.Email}, "app_user_email"},
	} {
		found, err := s.Pool.Query(t.Context(), `EXPLAIN `+q.sql, q.args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.Contains(t, plan, q.index, q.sql)
		require.NotContains(t, plan, "Seq Scan on campaign c")
	}
	changed, head, err := s.Campaigns.ChangedCampaigns(t.Context(), rows-3, 100)
	require.NoError(t, err)
	require.Len(t, changed, 3)
	require.EqualValues(t, rows, head)
}
