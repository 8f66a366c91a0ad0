package cmd_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A policy check reads texts for as long as a change does, though it keeps nothing: it counts as
// one, so that no account keeps the cores busy with texts that take long to judge.
func TestChecksCountAsChanges(t *testing.T) {
	m := newShop(t, "--rate-writes=4")
	checks := func(status int) {
		m.do(
			"POST", "/api/campaigns?action=check", m.owner.token,
			`{"headline":"Chess lessons","cta_url":"https://chess.example.com/"}`, status,
		)
	}
	for range 3 { // the shop has made one change
		checks(200)
	}
	checks(429)
	m.do("GET", "/api/campaigns", m.owner.token, "", 200)
	m.do(
		"POST", "/api/campaigns?action=check", m.publisher.token,
		`{"headline":"Chess lessons","cta_url":"https://chess.example.com/"}`, 200,
	)
}

// A change of the breakdown each second, with the figures of the period before, stays within the
// limits of a new installation. A 429 beyond them has the time of the next try.
func TestReportsAreReadOnceASecond(t *testing.T) {
	for _, name := range []string{"ADNET_RATE_STATS", "ADNET_RATE_READS"} {
		t.Setenv(name, "") // restores it afterwards
		require.NoError(t, os.Unsetenv(name))
	}
	m := newShop(t)
	campaign := "/api/stats?type=campaign&campaign_id=" + m.campaign
	for n := range 60 {
		by := []string{"day", "host_app", "surface", "language"}[n%4]
		m.do("GET", campaign+"&breakdown="+by, m.owner.token, "", 200)
		m.do("GET", campaign, m.owner.token, "", 200)
		m.do("GET", "/api/stats?breakdown="+by, m.owner.token, "", 200)
		m.do("GET", "/api/campaigns/"+m.campaign, m.owner.token, "", 200)
	}
	for range 1000 {
		request, err := http.NewRequest(http.MethodGet, m.base+"/api/stats", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+m.owner.token)
		reply, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		var body struct {
			After int `json:"retry_after"`
		}
		err = json.NewDecoder(reply.Body).Decode(&body)
		require.NoError(t, errors.Join(err, reply.Body.Close()))
		if reply.StatusCode == http.StatusTooManyRequests {
			require.Positive(t, body.After)
			require.Equal(t, strconv.Itoa(body.After), reply.Header.Get("Retry-After"))
			return
		}
	}
	t.Fatal("nothing limits it")
}
