package stats

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/report"
)

// The answers themselves are checked on the real store, in analytics/clickhouse.

// script answers each query by a function; it notes the queries in order.
type script struct {
	mu      sync.Mutex
	queries []string
	params  []map[string]string
	answer  func(ctx context.Context, n int) error // of the n-th query, from 1
}

func (s *script) Select(ctx context.Context, _ any, query string, params map[string]string) error {
	s.mu.Lock()
	s.queries, s.params = append(s.queries, query), append(s.params, params)
	n := len(s.queries)
	s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	return s.answer(ctx, n)
}

func TestNewNeedsAStore(t *testing.T) {
	_, err := New(Config{}, Deps{})
	require.Error(t, err)
}

// AsOf must be read before the data: read after it, it would promise events that came in between.
func TestProgressIsReadFirst(t *testing.T) {
	s := &script{}
	r, err := New(Config{}, Deps{Store: s})
	require.NoError(t, err)
	_, err = r.Stats(t.Context(), report.Query{Until: 10})
	require.NoError(t, err)
	require.Len(t, s.queries, 3)
	require.Contains(t, s.queries[0], "last_received_at")
	for _, later := range s.queries[1:] {
		require.NotContains(t, later, "last_received_at")
	}
	s.queries = nil
	_, err = r.Converted(t.Context(), report.Query{Until: 10})
	require.NoError(t, err)
	require.Len(t, s.queries, 2)
	require.Contains(t, s.queries[0], "last_received_at")
}

// Nothing of a query becomes SQL text: for one breakdown and the same filters every query has one
// text.
func TestValuesAreBound(t *testing.T) {
	texts := map[string]bool{}
	for _, q := range []report.Query{
		{AdvertiserID: uuid.New(), CampaignID: uuid.New(), DeveloperID: uuid.New(), Since: 1, Until: 20},
		{AdvertiserID: uuid.New(), CampaignID: uuid.New(), DeveloperID: uuid.New(), Since: 5, Until: 19000},
	} {
		s := &script{}
		r, err := New(Config{}, Deps{Store: s})
		require.NoError(t, err)
		_, err = r.Stats(t.Context(), q)
		require.NoError(t, err)
		slices.Sort(s.queries[1:]) // these two are asked at once
		texts[strings.Join(s.queries, "\n")] = true
		last := s.params[len(s.params)-1]
		require.Equal(t, q.CampaignID.String(), last["campaign"])
		require.Equal(t, q.AdvertiserID.String(), last["advertiser"])
		require.Equal(t, q.DeveloperID.String(), last["developer"])
		require.Equal(t, q.Since.String(), last["since"])
		require.Equal(t, q.Until.String(), last["until"])
	}
	require.Len(t, texts, 1)
	_, err := countsQuery(report.Query{Breakdown: "x"})
	require.True(t, errs.Is(err, errs.InvalidRequest))
}

func TestErrorsPass(t *testing.T) {
	for failing := range 3 {
		broken := errors.New("broken")
		s := &script{answer: func(_ context.Context, n int) error {
			if n == failing+1 {
				return broken
			}
			return nil
		}}
		r, err := New(Config{}, Deps{Store: s})
		require.NoError(t, err)
		_, err = r.Stats(t.Context(), report.Query{Until: 1})
		require.ErrorIs(t, err, broken)
	}
}

func TestTooLongIsUnavailable(t *testing.T) {
	s := &script{answer: func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	r, err := New(Config{Timeout: time.Nanosecond}, Deps{Store: s})
	require.NoError(t, err)
	_, err = r.Stats(t.Context(), report.Query{Until: 1})
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)
}
