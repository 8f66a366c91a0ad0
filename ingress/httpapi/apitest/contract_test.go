package apitest

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/schemas/event"
)

// A check that lets everything pass would prove nothing.
func TestContractRefuses(t *testing.T) {
	c := Load(t)
	for name, tc := range map[string]struct {
		method, path string
		status       int
		body         string
		ok           bool
	}{
		"as documented":    {"GET", "/healthz", 200, `{"status":"ok"}`, true},
		"unknown field":    {"GET", "/healthz", 200, `{"status":"ok","version":"1"}`, false},
		"missing field":    {"GET", "/healthz", 200, `{}`, false},
		"wrong constant":   {"GET", "/healthz", 200, `{"status":"so so"}`, false},
		"unknown status":   {"GET", "/healthz", 201, `{"status":"ok"}`, false},
		"error":            {"GET", "/api/keys", 401, `{"error":"no","code":"invalid_token"}`, true},
		"unknown code":     {"GET", "/api/keys", 401, `{"error":"no","code":"nope"}`, false},
		"unlisted extra":   {"GET", "/api/keys", 401, `{"error":"no","code":"invalid_token","stack":"x"}`, false},
		"nested field":     {"GET", "/api/keys", 200, `{"keys":[{"id":"x"}]}`, false},
		"composed":         {"GET", "/api/stats", 200, stats(``), true},
		"composed unknown": {"GET", "/api/stats", 200, stats(`,"surprise":1`), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(tc.status)
			_, err := w.WriteString(tc.body)
			require.NoError(t, err)
			probe := &probe{TB: t}
			func() {
				defer func() { _ = recover() }()
				c.Check(probe, httptest.NewRequest(tc.method, tc.path, nil), w)
			}()
			require.Equal(t, tc.ok, !probe.failed)
		})
	}
}

// probe notes a failure instead of ending the test.
type probe struct {
	testing.TB
	failed bool
}

func (p *probe) Fatalf(f string, a ...any) { p.failed = true; p.TB.Logf(f, a...); panic("failed") }

func stats(more string) string {
	return `{"type":"overview","since":"2026-01-01","until":"2026-01-02","timezone":"UTC","daily":[],"as_of":"2026-01-02T00:00:00Z",
	` +
		event.Join(func(k *event.Kind) string { return `"` + k.Column + `":0` }) + `,"conversions_unverified":0,"viewability":0,"spend_usd":0,"ctr":0,"ecpm":0,"credits":0,
	"billed":0,"conversion_value_usd":0,"duplicates":0,"rejected":0,"sandbox":0,"invalid_traffic":0,"invalid_impressions":0,"invalid_clicks":0,"invalid_by_reason":[],"house":{"impressions":0,"clicks":0,"other":0},"self_served":{"impressions":0,"clicks":0,"other":0},"mint_capped":0,"mint_held":0` + more + `}`
}
