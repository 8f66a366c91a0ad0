package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/stream"
)

// applyBatch settles a batch as the consumer does.
func applyBatch(t *testing.T, s *Stores, b ledger.Batch) (effects ledger.Effects) {
	t.Helper()
	require.NoError(t, s.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
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
