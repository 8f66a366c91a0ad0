package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/internal/campaign/subject"
)

// trades returns the trades with these names.
func trades(t *testing.T, names ...string) subject.TradeSet {
	set, bad := subject.TradesOf(names)
	require.Empty(t, bad)
	return set
}

// Index and scan distinguish exclusion by subjects and trades from exclusion by targeting.
func TestSubjectsAndTrades(t *testing.T) {
	health, debt := subject.SetOf(subject.Health), subject.SetOf(subject.Debt)
	for _, c := range []struct {
		name     string
		suits    auction.Suits
		subjects subject.Set
		trades   subject.TradeSet
		reason   auction.Reason // empty: it wins
		mismatch string
	}{
		{name: "an ordinary conversation"},
		{
			name: "a subject that is not allowed", subjects: health, reason: auction.SensitiveSubject,
			mismatch: "sensitive_contexts",
		},
		{name: "a subject that is allowed", subjects: health, suits: auction.Suits{Allowed: health}},
		{
			name: "one of two is not allowed", subjects: health | debt, suits: auction.Suits{Allowed: health},
			reason: auction.SensitiveSubject, mismatch: "sensitive_contexts",
		},
		{
			name: "what is excluded is not allowed", subjects: health,
			suits: auction.Suits{Allowed: health | debt, Excluded: health}, reason: auction.SensitiveSubject,
			mismatch: "exclude_contexts",
		},
		{name: "another is excluded", subjects: debt, suits: auction.Suits{Allowed: health | debt, Excluded: health}},
		{name: "excluding costs nothing elsewhere", suits: auction.Suits{Excluded: health}},
		{
			name: "a trade that may not run", suits: auction.Suits{Trades: trades(t, "alcohol")},
			reason: auction.NoMatch, mismatch: "trades",
		},
		{
			name: "a trade that may", suits: auction.Suits{Trades: trades(t, "alcohol")},
			trades: trades(t, "alcohol", "credit"),
		},
		{
			name: "one of two trades may", suits: auction.Suits{Trades: trades(t, "alcohol", "dating")},
			trades: trades(t, "alcohol"), reason: auction.NoMatch, mismatch: "trades",
		},
		{
			name: "trades come first", subjects: health, suits: auction.Suits{Trades: trades(t, "alcohol")},
			reason: auction.NoMatch, mismatch: "trades",
		},
		{name: "no campaign needs a trade", trades: trades(t, "alcohol")},
	} {
		first := cpm(1, 5)
		first.Suits = c.suits
		req := auction.Request{ID: id(9), Subjects: c.subjects, Trades: c.trades}
		got := decide(t, req, snapshot(first), nil) // compares both
		require.Equal(t, c.reason, got.Reason, c.name)
		house := auction.House(&req, snapshot(first), first.Advertiser, []auction.ID{first.ID}, nil)
		if require.Equal(t, c.reason == "", house != nil, "a house ad: "+c.name); c.reason == "" {
			continue
		}
		losers := auction.Explain(&req, snapshot(first), nil).Losers
		require.Len(t, losers, 1)
		require.Equal(t, []any{c.reason, c.mismatch}, []any{losers[0].Reason, losers[0].Mismatch}, c.name)
	}
}

// A campaign that is irrelevant anyway is not counted as excluded by subjects, and a remaining one
// wins.
func TestOnlyTheSubjectsAreSensitive(t *testing.T) {
	hosting := cpm(1, 5)
	hosting.Headline = "Postgres hosting"
	req := auction.Request{
		ID: id(9), Words: terms("How do I bake an apple pie?"), MinRelevance: 580_000,
		Subjects: subject.SetOf(subject.Health),
	}
	require.Equal(t, auction.Irrelevant, decide(t, req, snapshot(hosting), nil).Reason)
	req.Words = terms("postgres hosting")
	require.Equal(t, auction.SensitiveSubject, decide(t, req, snapshot(hosting), nil).Reason)
	other := hosting
	other.ID, other.Bid, other.Allowed = id(2), 1, req.Subjects
	require.Equal(t, id(2), decide(t, req, snapshot(hosting, other), nil).Winner.ID)
	refused := auction.GateFunc(func(*auction.Campaign, auction.Valuation) auction.Reason { return auction.Budget })
	require.Equal(t, auction.Budget, decide(t, req, snapshot(hosting, other), refused).Reason)
}
