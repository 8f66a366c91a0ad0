package memory

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
	"adnet/internal/storetest"
)

func TestPersonsConformance(t *testing.T) {
	storetest.RunPersons(t, func(t *testing.T) (storetest.Persons, func() string) {
		return New(time.Now), nil
	})
}

func TestOperationsConformance(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T) storetest.Operations {
		s := New(time.Now)
		return storetest.Operations{Stores: storesOf(s), AuditLog: s, Keys: s}
	})
}

func TestWeightsConformance(t *testing.T) {
	storetest.RunWeights(t, func(t *testing.T) storetest.Weights { return New(time.Now) })
}

func TestRetentionConformance(t *testing.T) {
	storetest.RunRetention(t, func(t *testing.T) (storetest.Ledger, storetest.Retention, storetest.Letters) {
		s := New(time.Now)
		return ledgerOf(s), s, s
	})
}

func ledgerOf(s *Store) storetest.Ledger {
	return storetest.Ledger{
		Stores: storesOf(s), Settler: s, Archive: s, Accounts: s,
		Deposit: func(ctx context.Context, id uuid.UUID, amount money.Micros) error {
			return storetest.Pay(ctx, s, id, amount)
		},
	}
}
