package memory

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
	"adnet/internal/store/storetest"
)

func TestPersonsConformance(t *testing.T) {
	storetest.RunPersons(t, func(t *testing.T) (storetest.Persons, func() string) {
		return personsOf(New(time.Now)), nil
	})
}

func TestOperationsConformance(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T) storetest.Operations {
		s := New(time.Now)
		return storetest.Operations{Stores: storesOf(s), AuditLog: s.Audit, Keys: s.Requests}
	})
}

func TestWeightsConformance(t *testing.T) {
	storetest.RunWeights(t, func(t *testing.T) storetest.Weights {
		s := New(time.Now)
		return storetest.Weights{Ranking: s.Weights, Log: s.Audit}
	})
}

func TestRetentionConformance(t *testing.T) {
	storetest.RunRetention(t, func(t *testing.T) (storetest.Ledger, storetest.Retention, storetest.Letters) {
		s := New(time.Now)
		return ledgerOf(s), s.Retention, s.Letters
	})
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
	storetest.RunWebhooks(t, func(*testing.T) storetest.Webhooks {
		s := New(time.Now)
		return storetest.Webhooks{Stores: storesOf(s), Endpoints: s.Webhooks, Outbox: s.Outbox}
	})
}

func TestNoticesConformance(t *testing.T) {
	storetest.RunNotices(t, func(*testing.T) storetest.Notices {
		s := New(time.Now)
		return storetest.Notices{
			Stores: storesOf(s), Notices: s.Notices, Endpoints: s.Webhooks, Outbox: s.Outbox,
			Forget: s.Accounts.Forget,
		}
	})
}
