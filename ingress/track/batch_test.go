package track

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/schemas/event"
)

func (f *fixture) batch(events ...string) (int, string) {
	w := f.Do(http.MethodPost, "/api/track?action=batch", `{"events":[`+strings.Join(events, ",")+`]}`)
	return w.Code, w.Body.String()
}

func (f *fixture) impression() string {
	return fmt.Sprintf(`{"event_type":"impression","campaign_id":"%s","auction_id":"%s"}`, campaignID, f.token())
}

func TestBatch(t *testing.T) {
	f := newFixture(t)
	code, body := f.batch(
		f.impression(), `{"event_type":"dance","campaign_id":"`+campaignID.String()+`"}`,
		conversion(t, f.clickID(), nil), `{"event_type":"click"}`, f.impression(),
	)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"tracked":3,"rejected":[
		{"index":1,"code":"invalid_request","error":"event_type must be `+event.TypeNames()+`","field":"event_type"},
		{"index":3,"code":"invalid_request","error":"campaign_id is required","field":"campaign_id"}],
		"unverified":[{"index":2,"reason":"no_credentials","message":"send a conversion key or the login of the campaign's owner"}]}`, body)
	events := f.Log.Requests()
	require.Len(t, events, 3)
	require.Equal(
		t, []event.Type{event.Type_IMPRESSION, event.Type_CONVERSION, event.Type_IMPRESSION},
		[]event.Type{events[0].Type, events[1].Type, events[2].Type},
	)
	for _, e := range events {
		require.Equal(t, event.Proof_SIGNED, e.Proof)
	}
}

func TestBatchLimits(t *testing.T) {
	f := newFixture(t)
	for _, count := range []int{0, maxBatch + 1} {
		events := make([]string, count)
		for i := range events {
			events[i] = `{}`
		}
		code, body := f.batch(events...)
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, body, `"field":"events"`)
	}
	code, _ := f.batch(`{"event_type":"` + strings.Repeat("x", maxBatchBody) + `"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	require.Equal(t, http.StatusBadRequest, f.Do(http.MethodPost, "/api/track?action=batch", `[]`).Code)
	require.Empty(t, f.Log.Requests())
}

// Each event that Kafka refuses or does not acknowledge goes to the spool. 200 means that all
// events are durable.
func TestBatchIsDurable(t *testing.T) {
	t.Run("kafka refuses", func(t *testing.T) {
		f := newFixture(t)
		f.Log.Err = ingresstest.ErrDown
		code, body := f.batch(f.impression(), f.impression())
		require.Equal(t, http.StatusOK, code)
		require.JSONEq(t, `{"tracked":2}`, body)
		require.Len(t, f.spool.Requests(), 2)
	})
	t.Run("kafka is silent", func(t *testing.T) {
		f := newFixture(t, func(c *Config) { c.AckWait = 1 })
		f.Log.Silent = true
		code, _ := f.batch(f.impression())
		require.Equal(t, http.StatusOK, code)
		require.Len(t, f.spool.Requests(), 1)
	})
	t.Run("neither takes it", func(t *testing.T) {
		f := newFixture(t)
		f.Log.Err, f.spool.Err = ingresstest.ErrDown, ingresstest.ErrDown
		code, body := f.batch(f.impression())
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, `"retry_after":2`)
		require.False(t, f.tracker.CanRecord(t.Context()), "what cannot be recorded must not be created")
	})
}
