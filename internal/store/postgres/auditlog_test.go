package postgres

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/money"
	"adnet/internal/store/storetest"
	"adnet/internal/testenv"
)

func TestPersonsConformance(t *testing.T) {
	storetest.RunPersons(t, func(t *testing.T) (storetest.Persons, func() string) {
		s := openStore(t)
		return personsOf(s), func() string { return testenv.PostgresText(t, s.Pool.Config().ConnString()) }
	})
}

func TestOperationsConformance(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T) storetest.Operations {
		s := openStore(t)
		return storetest.Operations{Stores: storesOf(s), AuditLog: s.Audit, Keys: s.Requests}
	})
}

func TestAuditLogIsAppendOnly(t *testing.T) {
	s := openStore(t)
	storetest.AddUser(t, storesOf(s))
	for _, sql := range []string{`DELETE FROM audit_log`, `UPDATE audit_log SET action = ''`, `TRUNCATE audit_log`} {
		_, err := s.Pool.Exec(t.Context(), sql)
		require.Error(t, err)
	}
}

func TestWeightsConformance(t *testing.T) {
	storetest.RunWeights(t, func(t *testing.T) storetest.Weights {
		s := openStore(t)
		return storetest.Weights{Ranking: s.Weights, Log: s.Audit}
	})
}

func TestRetentionConformance(t *testing.T) {
	storetest.RunRetention(t, func(t *testing.T) (storetest.Ledger, storetest.Retention, storetest.Letters) {
		s := openStore(t)
		return ledgerOf(s), s.Retention, s.Letters
	})
}

// TestMarksBeforeTheHorizonOnly is the last line of defence: the function that drops marks asks the
// horizon itself.
func TestMarksBeforeTheHorizonOnly(t *testing.T) {
	s := openStore(t)
	for _, day := range []int{0, 1, 20_000} {
		_, err := s.Pool.Exec(t.Context(), `SELECT billed_event_drop_day($1)`, day)
		require.ErrorContains(t, err, "may still be needed")
	}
	_, err := s.Pool.Exec(t.Context(), `UPDATE retention_horizon SET day = 20000`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE retention_horizon SET day = 19999`)
	require.ErrorContains(t, err, "only rises")
}

func ledgerOf(s *Stores) storetest.Ledger {
	return storetest.Ledger{
		Stores: storesOf(s), Settler: s.Ledger, Archive: s.Archive, Accounts: s.Ledger,
		Deposit: func(ctx context.Context, id uuid.UUID, amount money.Micros) error {
			return storetest.Pay(ctx, s.Payments, id, amount)
		},
	}
}

func TestWebhooksConformance(t *testing.T) {
	storetest.RunWebhooks(t, func(t *testing.T) storetest.Webhooks {
		s := openStore(t)
		return storetest.Webhooks{Stores: storesOf(s), Endpoints: s.Webhooks, Outbox: s.Outbox}
	})
}

func TestNoticesConformance(t *testing.T) {
	storetest.RunNotices(t, func(t *testing.T) storetest.Notices {
		s := openStore(t)
		return storetest.Notices{
			Stores: storesOf(s), Notices: s.Notices, Endpoints: s.Webhooks, Outbox: s.Outbox,
			Forget: s.Accounts.Forget,
		}
	})
}
