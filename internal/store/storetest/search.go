package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Searched is the part of a ledger that administrators read.
type Searched interface {
	Movements(ctx context.Context, q ledger.Search) ([]ledger.Found, error)
	Heads(ctx context.Context, q ledger.HeadQuery) ([]ledger.SideHead, error)
}

// Verifications holds the stored runs of verify.
type Verifications interface {
	Verifications(ctx context.Context, limit int) ([]ledger.Verification, error)
	AskVerification(ctx context.Context, by uuid.UUID, now time.Time) (ledger.Verification, error)
	BeginVerification(ctx context.Context, nightly bool, now time.Time) (ledger.Verification, bool, error)
	EndVerification(ctx context.Context, v ledger.Verification) error
}

// paged reads a search in pages of size.
func paged(t *testing.T, s Searched, q ledger.Search, size int) (all []ledger.Found) {
	t.Helper()
	q.Limit = size
	for {
		page, err := s.Movements(t.Context(), q)
		require.NoError(t, err)
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		q.Before = page[len(page)-1].Position
	}
}

// The ledger is searched by account, subject, kind, id and time, newest first; pages of any size
// return every movement once, with all its entries.
func movements(t *testing.T, l Ledger) {
	s := l.Books
	none, err := s.Movements(t.Context(), ledger.Search{Limit: 5})
	require.NoError(t, err)
	require.Empty(t, none)
	advertiser, developer := AddUser(t, l.Stores), newID(t)
	c := priced(t, l, advertiser, 10*money.USD, 10*money.USD)
	for i := range int64(3) {
		b := batchOf(partition(0), i, eventOf(t, c, developer, ledger.Impression))
		b.At = now.Add(time.Duration(i) * time.Minute)
		_, err := apply(t.Context(), l.Settler, b)
		require.NoError(t, err)
	}
	require.NoError(t, l.Deposit(t.Context(), advertiser.ID, 5*money.USD))
	all := paged(t, s, ledger.Search{}, 2)
	require.Len(t, all, 7, "three charges, three mints, a deposit")
	seen := map[uuid.UUID]bool{}
	for i, f := range all {
		require.False(t, seen[f.ID])
		seen[f.ID] = true
		require.NoError(t, f.Balanced())
		require.Len(t, f.Links, len(f.Entries))
		for _, link := range f.Links {
			require.Positive(t, link.Seq)
			require.NotZero(t, link.Hash)
		}
		require.True(t, i == 0 || !f.At.After(all[i-1].At), "newest first")
	}
	cash := paged(t, s, ledger.Search{Account: ledger.AdvertiserCash(advertiser.ID)}, 3)
	require.Len(t, cash, 4)
	for i, f := range cash {
		require.True(t, i == 0 || f.Position.Seq < cash[i-1].Position.Seq)
	}
	charges := paged(t, s, ledger.Search{Subjects: []uuid.UUID{c.ID}}, 2)
	require.Len(t, charges, 3)
	require.Equal(t, now.Add(2*time.Minute), charges[0].At)
	require.Len(t, paged(t, s, ledger.Search{Subjects: []uuid.UUID{c.ID, developer}}, 10), 6)
	require.Len(t, paged(t, s, ledger.Search{Kind: ledger.KindMint}, 1), 3)
	found := paged(t, s, ledger.Search{Transaction: charges[1].ID}, 5)
	require.Len(t, found, 1)
	require.Equal(t, charges[1].Links, found[0].Links)
	require.Len(
		t,
		paged(
			t, s,
			ledger.Search{
				Account: ledger.AdvertiserCash(advertiser.ID), Kind: ledger.KindCharge, Since: now.Add(time.Minute),
				Until: now.Add(2 * time.Minute),
			}, 5,
		), 1,
	)
	require.Empty(t, paged(t, s, ledger.Search{Account: "advertiser:' OR true --"}, 5))

	heads, err := s.Heads(t.Context(), ledger.HeadQuery{Limit: ledger.MaxFound})
	require.NoError(t, err)
	var after ledger.Side
	for _, want := range heads {
		page, err := s.Heads(t.Context(), ledger.HeadQuery{After: after, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []ledger.SideHead{want}, page)
		after = want.Side
	}
	own, err := s.Heads(t.Context(), ledger.HeadQuery{Account: ledger.AdvertiserCash(advertiser.ID), Limit: 5})
	require.NoError(t, err)
	require.Len(t, own, 1)
	newest := cash[0].Links[0]
	for _, link := range cash[0].Links {
		if link.Account == own[0].Account {
			newest = link
		}
	}
	require.Equal(
		t, ledger.Head{Seq: newest.Seq, Balance: newest.Balance, Hash: newest.Hash}, own[0].Head,
		"the head is the newest entry",
	)
	require.EqualValues(t, 4, own[0].Seq)
}

// A verification is requested, begun once regardless of the number of processes, and ended once.
// The next is possible some time after the last, and one that died with its process stops no later
// one.
func verifications(t *testing.T, l Ledger) {
	s := l.Books
	boss, at := newID(t), now
	begin := func(nightly bool) (ledger.Verification, bool) {
		t.Helper()
		v, begun, err := s.BeginVerification(t.Context(), nightly, at)
		require.NoError(t, err)
		return v, begun
	}
	_, begun := begin(false)
	require.False(t, begun, "nobody asked")
	requested, err := s.AskVerification(t.Context(), boss, at)
	require.NoError(t, err)
	again, err := s.AskVerification(t.Context(), newID(t), at)
	require.NoError(t, err)
	require.Equal(t, requested.ID, again.ID)
	require.Equal(t, boss, again.AskedBy)
	v, begun := begin(false)
	require.True(t, begun)
	require.Equal(t, requested.ID, v.ID)
	for _, nightly := range []bool{false, true} {
		_, begun = begin(nightly)
		require.False(t, begun, "it runs")
	}
	at = at.Add(time.Minute)
	v.EndedAt, v.Checks = at, []ledger.Check{{Name: "a", Want: 1, Got: 1}, {Name: "b", Want: 1, Got: 2, Detail: "x"}}
	require.NoError(t, s.EndVerification(t.Context(), v))
	late := v
	late.Checks = nil
	require.NoError(t, s.EndVerification(t.Context(), late))
	list, err := s.Verifications(t.Context(), 5)
	require.NoError(t, err)
	require.Equal(t, []ledger.Verification{v}, list)
	require.False(t, list[0].Clean())

	_, err = s.AskVerification(t.Context(), boss, at.Add(ledger.VerifyGap-1e6))
	require.True(t, errs.Is(err, errs.Conflict), "%v", err)
	_, begun = begin(true)
	require.False(t, begun, "another process has had this night's")
	at = at.Add(ledger.VerifyGap)
	night, begun := begin(true)
	require.True(t, begun)
	require.Equal(t, uuid.Nil, night.AskedBy)
	at = at.Add(ledger.VerifyLimit)
	next, err := s.AskVerification(t.Context(), boss, at)
	require.NoError(t, err)
	require.Greater(t, next.ID, night.ID, "its process died")
	for range ledger.VerifyKept + 3 {
		v, begun := begin(true)
		require.True(t, begun)
		v.EndedAt = at
		require.NoError(t, s.EndVerification(t.Context(), v))
		at = at.Add(ledger.VerifyGap)
	}
	list, err = s.Verifications(t.Context(), 1000)
	require.NoError(t, err)
	require.LessOrEqual(t, len(list), ledger.VerifyKept)
	require.True(t, list[0].Clean())
}
