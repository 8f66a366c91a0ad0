package postgres

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/storetest"
	"adnet/internal/testenv"
)

// Not by a trigger but by rights: the role of the processes cannot change written rows, whatever
// they run.
func TestApplicationCannotChangeTheLedger(t *testing.T) {
	s := openStore(t)
	u := storetest.AddUser(t, storesOf(s))
	require.NoError(t, storetest.Pay(t.Context(), s.Payments, u.ID, 5))
	// a partition is made without the right to make tables
	require.NoError(t, s.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		_, err := tx.MarkFirst(t.Context(), []ledger.Key{{Day: 20001, Auction: uuid.New(), Type: ledger.Click}})
		return err
	}))
	for table, column := range map[string]string{
		"ledger_transaction": "ref", "ledger_entry": "amount", "payment_event": "amount",
		"statement_close": "month", "campaign_review": "notes",
		"ledger_reversal": "amount",
	} {
		// refused, or grants nothing with a warning
		_, _ = s.Pool.Exec(t.Context(), `GRANT UPDATE, DELETE ON `+table+` TO CURRENT_USER`)
		for _, statement := range []string{
			`UPDATE $t SET ` + column + ` = ` + column, `DELETE FROM $t`, `TRUNCATE $t`,
			`ALTER TABLE $t DISABLE TRIGGER ALL`, `ALTER TABLE $t DISABLE TRIGGER USER`,
			`ALTER TABLE $t ADD COLUMN x int`, `ALTER TABLE $t OWNER TO CURRENT_USER`, `DROP TABLE $t`,
			`CREATE TRIGGER x BEFORE INSERT ON $t EXECUTE FUNCTION ledger_append_only()`,
			`CREATE RULE x AS ON INSERT TO $t DO INSTEAD NOTHING`,
		} {
			statement = strings.Replace(statement, "$t", table, 1)
			_, err := s.Pool.Exec(t.Context(), statement)
			requireNoRight(t, err, statement)
		}
	}
	for _, statement := range []string{
		`DELETE FROM billed_event`, `UPDATE billed_event SET auction_day = 1`, `TRUNCATE billed_event`,
		`DROP TABLE billed_event_20001`,
		`DELETE FROM billed_event_20001`, `ALTER TABLE billed_event DETACH PARTITION billed_event_20001`,
		`CREATE TABLE mine (id int)`, `DROP FUNCTION ledger_append_only CASCADE`,
		`CREATE OR REPLACE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`INSERT INTO schema_migration VALUES ('x', '', now())`, `SET session_replication_role = replica`,
		`SET ROLE adnet`,
	} {
		_, err := s.Pool.Exec(t.Context(), statement)
		requireNoRight(t, err, statement)
	}
	require.Equal(t, int64(0), check(t, s, ledger.CheckRights).Got)
	require.Positive(t, check(t, asOwner(t, s), ledger.CheckRights).Got, "who owns the tables could change them")
}

func requireNoRight(t *testing.T, err error, statement string) {
	t.Helper()
	var refused *pgconn.PgError
	require.True(t, errors.As(err, &refused), "%s: %v", statement, err)
	require.Equal(t, "42501", refused.Code, "%s: %s", statement, refused.Message)
}

func check(t *testing.T, s *Stores, name string) ledger.Check {
	t.Helper()
	checks, err := s.Ledger.Verify(t.Context(), ledger.VerifyOptions{})
	require.NoError(t, err)
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q", name)
	return ledger.Check{}
}

// Whoever may do everything can still not change the books unseen.
func TestChainShowsTampering(t *testing.T) {
	const third = ` WHERE account = 'house:deposits' AND chain_seq = 3`
	for name, damage := range map[string]struct{ sql, detail string }{
		"amount": {`UPDATE ledger_entry SET amount = amount - 1` + third, "entry 3: balance"},
		"amount and sum": {
			`UPDATE ledger_entry SET amount = amount - 1, balance_after = balance_after - 1` + third,
			"entry 3 of transaction",
		},
		"removed": {`DELETE FROM ledger_entry` + third, "entry 4 follows entry 2"},
		"inserted": {`INSERT INTO ledger_entry (transaction_id, leg, account, asset, amount, chain_seq,
			balance_after, at, hash)
			SELECT transaction_id, 9, account, asset, 7, chain_seq, balance_after, at, hash
				FROM ledger_entry` + third, "entry 3 follows entry 3"},
		"swapped": {
			`UPDATE ledger_entry SET chain_seq = CASE chain_seq WHEN 3 THEN 4 ELSE 3 END WHERE account = 'house:deposits' AND chain_seq IN (3, 4)`, "entry 3",
		},
		"swapped with their sums": {`UPDATE ledger_entry e SET amount = o.amount,
			balance_after = e.balance_after - e.amount + o.amount, transaction_id = o.transaction_id, leg = o.leg + 10
			FROM ledger_entry o WHERE e.account = 'house:deposits' AND o.account = e.account AND e.chain_seq IN (3,
				4) AND o.chain_seq = 7 - e.chain_seq`, "entry 3"},
		"tail removed": {
			`DELETE FROM ledger_entry WHERE account = 'house:deposits' AND chain_seq > 4`,
			"ends with entry 4, the balance has entry 6",
		},
		"all removed": {
			`DELETE FROM ledger_entry WHERE account = 'house:deposits'`, "ends with entry 0, the balance has entry 6",
		},
		"reference": {
			`UPDATE ledger_transaction SET ref = ref || 'x' WHERE id = (SELECT transaction_id FROM ledger_entry` +
				third + `)`, "entry 3 of transaction",
		},
		"kind": {
			`UPDATE ledger_transaction SET kind = 'gift' WHERE id = (SELECT transaction_id FROM ledger_entry` + third +
				`)`, "entry 3 of transaction",
		},
		"link": {
			`UPDATE ledger_transaction SET reverses = id WHERE id = (SELECT transaction_id FROM ledger_entry` + third +
				`)`, "entry 3 of transaction",
		},
		"time":    {`UPDATE ledger_entry SET at = at + interval '1 month'` + third, "entry 3 of transaction"},
		"balance": {`UPDATE balance SET amount = amount + 1 WHERE account = 'house:deposits'`, "ends with entry 6"},
		"head":    {`UPDATE balance SET hash = sha256('x') WHERE account = 'house:deposits'`, "ends with entry 6"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			owner := asOwner(t, s)
			for range 2 {
				u := storetest.AddUser(t, storesOf(s))
				for i := range 3 {
					require.NoError(t, storetest.Pay(t.Context(), s.Payments, u.ID, money.Micros(5+i)))
				}
			}
			require.True(t, check(t, s, ledger.CheckChain).OK())
			require.NoError(t, owner.Transact(t.Context(), "damage", func(tx pgx.Tx) error {
				for _, sql := range []string{`SET LOCAL session_replication_role = replica`, damage.sql} {
					tag, err := tx.Exec(t.Context(), sql)
					if err != nil {
						return err
					}
					if sql == damage.sql {
						require.Positive(t, tag.RowsAffected())
					}
				}
				return nil
			}))
			found := check(t, s, ledger.CheckChain)
			require.False(t, found.OK())
			require.Contains(t, found.Detail, damage.detail)
		})
	}
}

// The database computes the hash of an entry as Go does: an auditor needs nothing of ours to check
// a chain.
func TestChainInSQL(t *testing.T) {
	s := openStore(t)
	u := storetest.AddUser(t, storesOf(s))
	for range 3 {
		require.NoError(t, storetest.Pay(t.Context(), s.Payments, u.ID, 5))
	}
	_, err := s.Payments.ApplyNotice(
		t.Context(),
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e1", Kind: ledger.NoticePaid, PaymentID: "pi_ü", Amount: 9,
			Names: []uuid.UUID{u.ID}, At: storetest.Now,
		},
	)
	require.NoError(t, err)
	_, err = s.Payments.ApplyNotice(
		t.Context(),
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e2", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_ü", Amount: 4,
			At: storetest.Now,
		},
	)
	require.NoError(t, err)
	var entries, equal int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE e.hash = ledger_entry_hash(coalesce(p.hash, decode(repeat('00', 32),
			'hex')), e, t))
		FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
		LEFT JOIN ledger_entry p ON p.account = e.account AND p.asset = e.asset
			AND p.chain_seq = e.chain_seq - 1`).Scan(&entries, &equal))
	require.Equal(t, 10, entries)
	require.Equal(t, entries, equal)
}

func TestGrant(t *testing.T) {
	owner := testenv.Postgres(t)
	require.NoError(t, Migrate(t.Context(), owner, func(string) {}))
	app := testenv.PostgresApp(t, owner)
	var all sync.WaitGroup
	failures := make([]error, 4)
	for i := range failures {
		all.Go(func() { failures[i] = Grant(t.Context(), owner, app, func(string) {}) })
	}
	all.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	var reply string
	require.NoError(t, Grant(t.Context(), owner, owner, func(line string) { reply = line }))
	require.Contains(t, reply, EnvOwnerURL)

	// A new role: made exactly as the URL says, however odd, and the password follows the setting.
	conn, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	name := "adnet_test_" + uuid.NewString()[:8] + `'"\`
	for _, password := range []string{`p'"\ w`, "other"} {
		config, err := pgx.ParseConfig(owner)
		require.NoError(t, err)
		config.User, config.Password = name, password
		address := urlOf(t, owner, name, password)
		require.NoError(t, Grant(t.Context(), owner, address, func(string) {}))
		own, err := pgx.ConnectConfig(t.Context(), config)
		require.NoError(t, err)
		var superuser, creates bool
		require.NoError(
			t,
			own.QueryRow(
				t.Context(), `SELECT rolsuper, rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user`,
			).Scan(&superuser, &creates),
		)
		require.False(t, superuser || creates)
		require.NoError(t, own.Close(t.Context()))
	}
	quoted := pgx.Identifier{name}.Sanitize()
	_, err = conn.Exec(t.Context(), `DROP OWNED BY `+quoted+`; DROP ROLE `+quoted)
	require.NoError(t, err)
}

// urlOf is address for another login.
func urlOf(t *testing.T, address, user, password string) string {
	t.Helper()
	target, err := url.Parse(address)
	require.NoError(t, err)
	target.User = url.UserPassword(user, password)
	return target.String()
}
