package postgres

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/stream"
)

// Two archives plan blocks that share a partition, and the second waits in the middle of its plan
// for the first: nothing of it may stay, or its first partition would be pending in a block that is
// never inserted.
func TestPlanIsStoredWholeOrNotAtAll(t *testing.T) {
	s := openStore(t)
	var batch ledger.Batch
	var held []stream.Range
	for n := range int32(3) {
		r := stream.Range{Partition: stream.Partition{Stream: "a1b2c3", Number: n}, First: 0, Next: 1}
		held = append(held, r)
		batch.Runs = append(batch.Runs, ledger.Run{Range: r, Records: []ledger.Record{{Problem: "x"}}})
	}
	applyBatch(t, s, batch)
	for n := range held { // the rows are there, so that the first can lock one of them
		plan, err := s.Archive.NextPlan(t.Context(), held[n:n+1], 1)
		require.NoError(t, err)
		require.NoError(t, s.Archive.MarkArchived(t.Context(), plan.Plan()))
	}
	for i := range batch.Runs {
		batch.Runs[i].First, batch.Runs[i].Next, held[i].Next = 1, 2, 2
	}
	applyBatch(t, s, batch)

	first, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer first.Rollback(t.Context())
	_, err = first.Exec(
		t.Context(), `UPDATE archive_progress SET planned_to = 2, plan = $1 WHERE partition IN (1, 2)`, uuid.New(),
	)
	require.NoError(t, err)
	second := make(chan ledger.Planned)
	go func() {
		plan, err := s.Archive.NextPlan(t.Context(), held[:2], 10)
		if err != nil {
			t.Error(err)
		}
		second <- plan
	}()
	waitForLock(t, s)
	require.NoError(t, first.Commit(t.Context()))

	plan := <-second // that of the first, with the partition that the second knew nothing of
	require.Equal(t, []int32{1, 2}, []int32{plan[0].Number, plan[1].Number})
	require.NoError(t, s.Archive.MarkArchived(t.Context(), plan.Plan()))
	plan, err = s.Archive.NextPlan(t.Context(), held[:1], 10)
	require.NoError(t, err)
	require.Len(t, plan, 1, "partition 0 is free for a plan of its own")
}
