package oversee_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/ledger"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// log is a log that stores records, or refuses them.
type log struct {
	sent, keys [][]byte
	refuses    error
}

func (l *log) Produce(topic string, key, value []byte, done func(error)) {
	if topic != event.TopicEvents {
		done(errors.New("not the topic of events"))
		return
	}
	if l.refuses == nil {
		l.sent, l.keys = append(l.sent, value), append(l.keys, key)
	}
	done(l.refuses)
}

// dead stores a dead letter and returns its id.
func (w *world) dead(t *testing.T, offset int64, raw []byte) string {
	t.Helper()
	p := stream.Partition{Stream: "0f1e", Number: 3}
	require.NoError(t, w.Store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		return tx.Write(
			t.Context(),
			ledger.Effects{
				Dead: []ledger.DeadLetter{{Partition: p, Offset: offset, Problem: "no campaign", Raw: raw}}, At: w.Now,
			},
		)
	}))
	return fmt.Sprintf("0f1e-3-%d", offset)
}

// A letter is replayed once, and the audit log records the administrator. A second replay needs
// again, and after a failure the letter stays open.
func TestALetterIsSentOnce(t *testing.T) {
	w := newWorld(t)
	auction := uuid.Must(uuid.NewV7())
	raw, err := proto.Marshal(&event.Event{AuctionId: auction[:], ReceivedAtUs: 1})
	require.NoError(t, err)
	id := w.dead(t, 7, raw)
	list := w.boss.Get(t, "/api/admin/dead_letters?problem=CAMPAIGN").As(200)["dead_letters"].([]any)
	require.Len(t, list, 1)
	require.NotContains(t, list[0], "raw")
	first := w.boss.Get(t, "/api/admin/dead_letters/"+id).As(200)["dead_letter"].(object)
	require.Equal(t, base64.StdEncoding.EncodeToString(raw), first["raw"])
	require.Contains(t, first["decoded"], "auctionId")

	w.log.refuses = errors.New("away")
	w.boss.Post(t, "/api/admin/dead_letters/"+id+"/replay", object{}).Fails(503, "unavailable")
	first = w.boss.Get(t, "/api/admin/dead_letters/"+id).As(200)["dead_letter"].(object)
	require.NotNil(t, first["replay_started_at"])
	require.Nil(t, first["replayed_at"])
	w.log.refuses = nil
	w.boss.Post(t, "/api/admin/dead_letters/"+id+"/replay", object{}).Fails(409, "conflict")
	require.Empty(t, w.log.sent, "it may be in the log: only who says so sends it again")
	done := w.boss.Post(
		t, "/api/admin/dead_letters/"+id+"/replay", object{"again": true},
	).As(200)["dead_letter"].(object)
	require.Equal(t, w.boss.ID.String(), done["replayed_by"])
	require.Equal(t, [][]byte{raw}, w.log.sent)
	require.Equal(t, [][]byte{auction[:]}, w.log.keys, "the partition of the auction's other events")
	w.boss.Post(t, "/api/admin/dead_letters/"+id+"/replay", object{}).Fails(409, "conflict")
	require.Empty(t, w.boss.Get(t, "/api/admin/dead_letters").As(200)["dead_letters"])
	require.Len(t, w.boss.Get(t, "/api/admin/dead_letters?state=all").As(200)["dead_letters"], 1)
	entries, err := w.Store.Audit.AuditLog(t.Context(), auditlog.Query{TargetKind: auditlog.TargetDeadLetter, Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, w.boss.ID, entries[0].Actor.AccountID)
}

// Data from strangers is bounded, and pages end.
func TestLettersAreBounded(t *testing.T) {
	w := newWorld(t)
	id := w.dead(t, 0, []byte(strings.Repeat("\xff", 100_000)))
	w.dead(t, 1, nil)
	first := w.boss.Get(t, "/api/admin/dead_letters/"+id).As(200)["dead_letter"].(object)
	raw, err := base64.StdEncoding.DecodeString(first["raw"].(string))
	require.NoError(t, err)
	require.Len(t, raw, 4<<10)
	require.EqualValues(t, 100_000, first["bytes"])
	require.NotContains(t, first, "decoded")
	page := w.boss.Get(t, "/api/admin/dead_letters?limit=1").As(200)
	require.Equal(t, true, page["more"])
	page = w.boss.Get(t, "/api/admin/dead_letters?limit=1&offset=1").As(200)
	require.Equal(t, false, page["more"])
	w.boss.Post(t, "/api/admin/dead_letters/0f1e-3-1/replay", object{}).Fails(400, "invalid_state")
	for _, none := range []string{"0f1e-3-9", "x", "a-b-c", "0f1e-3--1", "0f1e-99999999999-1", "-0-0-"} {
		w.boss.Get(t, "/api/admin/dead_letters/"+none).Fails(404, "not_found")
		w.boss.Post(t, "/api/admin/dead_letters/"+none+"/replay", object{}).Fails(404, "not_found")
	}
	for _, query := range []string{
		"problem=%00", "problem=%ff", "stream=" + strings.Repeat("x", 201), "state=new", "limit=201",
	} {
		w.boss.Get(t, "/api/admin/dead_letters?"+query).Fails(400, "invalid_request")
	}
}

func TestSettingsAreShown(t *testing.T) {
	w := newWorld(t)
	list := w.boss.Get(t, "/api/admin/settings").As(200)["settings"].([]any)
	require.Equal(t, "file", list[0].(object)["origin"])
	require.Equal(t, "********", list[0].(object)["value"])
}
