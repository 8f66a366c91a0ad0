package offer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/offer"
	"adnet/internal/campaign/subject"
	"adnet/internal/process/obs"
)

// stored is a store of unknown flags that may be away.
type stored struct {
	away   bool
	counts map[uuid.UUID]map[string]int64
}

func (k *stored) AddFlags(_ context.Context, publisher uuid.UUID, flags []subject.Unknown, _ time.Time) error {
	if k.away {
		return errors.New("away")
	}
	for _, f := range flags {
		if k.counts[publisher] == nil {
			k.counts[publisher] = map[string]int64{}
		}
		k.counts[publisher][f.Name] += f.Count
	}
	return nil
}

// A node's memory is bounded whatever publishers send, and nothing is lost while the store is away
// for a while.
func TestUnknownFlagsAreCountedInBounds(t *testing.T) {
	store := &stored{away: true, counts: map[uuid.UUID]map[string]int64{}}
	c := offer.NewFlagCounter(obs.Limited(nil, 0), store)
	first := uuid.New()
	for range 3 {
		c.Unknown(first, "bad_vibes", time.Now())
		c.Flush(t.Context())
	}
	for i := range 100 {
		c.Unknown(first, fmt.Sprint("f", i), time.Now())
	}
	store.away = false
	c.Flush(t.Context())
	require.Len(t, store.counts[first], subject.MaxUnknown+1)
	require.EqualValues(t, 3, store.counts[first]["bad_vibes"])
	require.EqualValues(t, 81, store.counts[first][subject.OtherFlags])

	for range 5000 {
		c.Unknown(uuid.New(), "x", time.Now())
	}
	clear(store.counts)
	c.Flush(t.Context())
	require.Len(t, store.counts, 1000)
	clear(store.counts)
	c.Flush(t.Context())
	require.Empty(t, store.counts)
}
