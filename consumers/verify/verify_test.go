package verify_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/consumers/verify"
	"adnet/internal/ledger"
	"adnet/internal/process/roster"
	"adnet/internal/store/memory"
)

func verifier(
	t *testing.T, store *memory.Stores, at time.Duration, check func(context.Context) ([]ledger.Check, error),
) *verify.Verifier {
	t.Helper()
	v, err := verify.New(verify.Config{At: at}, verify.Deps{
		Store: store.Ledger, Check: check, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	return v
}

// Two processes run one verify each night between them, one when asked, and none otherwise.
func TestOneRunANightAndWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, runs := memory.New(time.Now), 0
		check := func(context.Context) ([]ledger.Check, error) {
			runs++
			time.Sleep(time.Minute)
			return []ledger.Check{{Name: "a", Want: 1, Got: 1}}, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		for range 2 {
			go func() { _ = verifier(t, store, 4*time.Hour, check).Run(ctx) }()
		}
		time.Sleep(3*24*time.Hour + time.Minute) // the clock of synctest begins at midnight
		require.Equal(t, 3, runs)
		_, err := store.Ledger.AskVerification(t.Context(), uuid.New(), time.Now())
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 4, runs)
		list, err := store.Ledger.Verifications(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, list, 4)
		require.True(t, list[0].Clean())
		stop()
		synctest.Wait()
	})
}

// Without nightly runs verify runs when it is asked, and never else.
func TestOnlyWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, runs := memory.New(time.Now), 0
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			_ = verifier(
				t, store, 24*time.Hour, func(context.Context) ([]ledger.Check, error) { runs++; return nil, nil },
			).Run(ctx)
		}()
		time.Sleep(3 * 24 * time.Hour)
		require.Zero(t, runs)
		stop()
		synctest.Wait()
	})
}

// Administrators are told when the next night's run begins, and how each run went.
func TestRunsAreTold(t *testing.T) {
	type statement struct {
		ran, failed bool
		next        string
	}
	for at, next := range map[time.Duration]string{4 * time.Hour: "04:00", 24 * time.Hour: ""} {
		synctest.Test(t, func(t *testing.T) {
			var reported []statement
			checks := []ledger.Check{{Name: "a", Want: 1, Got: 1}}
			v, err := verify.New(verify.Config{At: at}, verify.Deps{
				Store: memory.New(time.Now).Ledger, Log: slog.New(slog.DiscardHandler),
				Metrics: prometheus.NewRegistry(),
				Check:   func(context.Context) ([]ledger.Check, error) { return checks, nil },
				Reporter: func(_ context.Context, ended *roster.Run, next time.Time) {
					s := statement{ran: ended != nil, failed: ended != nil && ended.Failed}
					if !next.IsZero() {
						s.next = next.UTC().Format("15:04")
					}
					reported = append(reported, s)
				},
			})
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			require.NoError(t, v.Run(ctx))
			require.NoError(t, v.Turn(t.Context(), true))
			checks[0].Got = 2
			time.Sleep(time.Hour)
			require.NoError(t, v.Turn(t.Context(), true))
			require.Equal(t, []statement{{false, false, next}, {true, false, next}, {true, true, next}}, reported)
		})
	}
}

// What a store says when it cannot be read is for the log, and the run is kept as one that failed.
func TestAFailedRunIsKeptWithoutItsCause(t *testing.T) {
	store := memory.New(time.Now)
	v := verifier(t, store, 0, func(context.Context) ([]ledger.Check, error) {
		return nil, errors.New("dial tcp 10.0.0.7: password wrong")
	})
	require.NoError(t, v.Turn(t.Context(), true))
	list, err := store.Ledger.Verifications(t.Context(), 1)
	require.NoError(t, err)
	require.NotEmpty(t, list[0].Problem)
	require.NotContains(t, list[0].Problem, "10.0.0.7")
	require.False(t, list[0].Clean())
}
