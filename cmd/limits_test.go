package cmd_test

import "testing"

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
