package manage_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/manage"
	"adnet/internal/campaign/subject"
)

// flags are unknown flags by publisher.
type flags map[uuid.UUID][]subject.Unknown

func (f flags) UnknownFlags(_ context.Context, publisher uuid.UUID) ([]subject.Unknown, error) {
	return append([]subject.Unknown{}, f[publisher]...), nil
}

// A publisher sees its own unknown flags and what would be known; the document has the form.
func TestUnknownFlagsOfAPublisher(t *testing.T) {
	w := emptyWorld(t)
	sent := flags{}
	w.flags = sent
	w.management().Mount(w.HTTP)
	me, other := w.advertiser(t), w.advertiser(t)
	sent[me.DeveloperID] = []subject.Unknown{{
		Name: "bad_vibes", Count: 12, LastAt: time.Date(2026, 3, 9, 1, 2, 3, 0, time.UTC),
	}}
	got := me.Get(t, "/api/account/suitability").As(200)
	require.Equal(
		t, []any{object{"name": "bad_vibes", "count": 12.0, "last_at": "2026-03-09T01:02:03Z"}}, got["unknown_flags"],
	)
	known := got["known_flags"].([]any)
	require.Len(t, known, len(subject.Services)+1)
	require.Equal(t, "adnet", known[0].(object)["service"])
	require.Contains(t, known[1].(object)["flags"], object{"flag": "sexual/minors", "subjects": []any{"minors"}})
	require.Equal(t, []any{}, other.Get(t, "/api/account/suitability").As(200)["unknown_flags"])
	other.Get(t, "/api/account/suitability?developer_id="+me.DeveloperID.String()).Fails(403, "forbidden")
	require.Len(
		t, w.admin(t).Get(t, "/api/account/suitability?developer_id="+me.DeveloperID.String()).As(200)["unknown_flags"],
		1,
	)
	w.nobody().Get(t, "/api/account/suitability").Fails(401, "invalid_token")
}

var _ manage.FlagReader = flags{}
