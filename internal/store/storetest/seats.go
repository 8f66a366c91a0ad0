package storetest

import (
	"crypto/sha256"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

var seatCases = []testCase{
	{"SeatAndKeyAreMadeTogether", seatAndKey},
	{"SeatIsItsOwners", seatIsItsOwners},
	{"SeatsAreBounded", seatsAreBounded},
}

// newSeat returns a seat of owner with its key, not stored yet.
func newSeat(t *testing.T, owner account.User, at time.Time) (account.User, account.Key) {
	t.Helper()
	id := newID(t)
	seat := account.User{
		ID: id, DeveloperID: newID(t), Email: id.String() + "@seats.invalid", Role: account.RoleSeat, TokenVersion: 1,
		CreatedAt: at, ParentID: owner.ID,
	}
	return seat, account.Key{
		ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeatPath, Name: "exchange",
		Prefix:    "seatpath_live_ab",
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::7/128")},
		Hash:      sha256.Sum256(id[:]), CreatedAt: at,
	}
}

// addSeat stores a new seat.
func addSeat(t *testing.T, s Stores, owner account.User) (account.User, account.Key) {
	t.Helper()
	seat, k := newSeat(t, owner, keyTime)
	require.NoError(t, s.Keys.CreateSeat(t.Context(), seat, k))
	return seat, k
}

func seatAndKey(t *testing.T, s Stores) {
	owner := AddUser(t, s)
	seat, k := addSeat(t, s, owner)
	got, disabled, err := s.Keys.KeyByHash(t.Context(), k.Hash)
	require.NoError(t, err)
	require.False(t, disabled)
	k.Family = owner.DeveloperID
	require.Equal(t, k, got)
	read, err := s.Users.User(t.Context(), seat.ID)
	require.NoError(t, err)
	require.Equal(t, seat, read)

	other, taken := newSeat(t, owner, keyTime)
	taken.Hash = k.Hash
	requireCode(t, s.Keys.CreateSeat(t.Context(), other, taken), errs.Conflict)
	_, err = s.Users.User(t.Context(), other.ID)
	requireCode(t, err, errs.NotFound)
	orphan, key := newSeat(t, account.User{ID: newID(t)}, keyTime)
	requireCode(t, s.Keys.CreateSeat(t.Context(), orphan, key), errs.NotFound)

	_, err = s.Users.UpdateUser(
		t.Context(), seat.ID, func(u *account.User) error { u.Disabled, u.ParentID = true, uuid.Nil; return nil },
	)
	require.NoError(t, err)
	_, disabled, err = s.Keys.KeyByHash(t.Context(), k.Hash)
	require.NoError(t, err)
	require.True(t, disabled, "a seat is disabled by itself")
	read, err = s.Users.User(t.Context(), seat.ID)
	require.NoError(t, err)
	require.Equal(t, owner.ID, read.ParentID, "whose it is never changes")
}

func seatIsItsOwners(t *testing.T, s Stores) {
	owner, stranger := AddUser(t, s), AddUser(t, s)
	first, firstKey := addSeat(t, s, owner)
	second, secondKey := addSeat(t, s, owner)
	for _, find := range []func() (account.User, error){
		func() (account.User, error) { return s.Users.User(t.Context(), owner.ID) },
		func() (account.User, error) { return s.Users.UserByEmail(t.Context(), owner.Email) },
	} {
		read, err := find()
		require.NoError(t, err)
		require.Equal(
			t,
			[]account.Seat{
				{ID: first.ID, DeveloperID: first.DeveloperID}, {ID: second.ID, DeveloperID: second.DeveloperID},
			}, read.Seats,
		)
		require.True(t, read.Publishes(second.DeveloperID) && read.MayActFor(first.ID))
		require.False(
			t, read.Publishes(stranger.DeveloperID) || read.Publishes(uuid.Nil) || read.MayActFor(stranger.ID),
		)
	}
	for _, role := range []account.Role{account.RoleAdmin, account.RoleAdvertiser} {
		_, err := s.Users.UpdateUser(
			t.Context(), owner.ID,
			func(u *account.User) error { u.Disabled, u.Role, u.Seats = true, role, nil; return nil },
		)
		require.NoError(t, err)
		_, disabled, err := s.Keys.KeyByHash(t.Context(), firstKey.Hash)
		require.NoError(t, err)
		require.Equal(t, role != account.RoleAdmin, disabled, "a disabled administrator stops no exchange")
	}
	keys, err := s.Keys.Keys(t.Context(), owner.ID)
	require.NoError(t, err)
	require.ElementsMatch(t, []account.Key{firstKey, secondKey}, keys)
	keys, err = s.Keys.Keys(t.Context(), first.ID)
	require.NoError(t, err)
	require.Equal(t, []account.Key{firstKey}, keys)
	for _, foreign := range []uuid.UUID{stranger.ID, second.ID} {
		requireCode(t, s.Keys.RevokeKey(t.Context(), foreign, firstKey.ID, keyTime), errs.NotFound)
	}
	require.NoError(t, s.Keys.RevokeKey(t.Context(), owner.ID, firstKey.ID, keyTime))
	revoked, _, err := s.Keys.KeyByHash(t.Context(), firstKey.Hash)
	require.NoError(t, err)
	require.True(t, revoked.Revoked())
	entries, err := s.Audit.AuditLog(
		t.Context(), auditlog.Query{OwnerID: owner.ID, TargetKind: auditlog.TargetKey, Limit: 9},
	)
	require.NoError(t, err)
	require.Len(t, entries, 3, "what happens to a seat's keys is in its owner's log")
}

func seatsAreBounded(t *testing.T, s Stores) {
	owner := AddUser(t, s)
	for range account.MaxSeats {
		addSeat(t, s, owner)
	}
	seat, k := newSeat(t, owner, keyTime)
	requireCode(t, s.Keys.CreateSeat(t.Context(), seat, k), errs.Conflict)
}

// ownersTraffic simulates an owner that shows its own campaign on its seats, and a seat's Credits
// that pay for a campaign on the owner's other seat: neither is charged, and neither mints.
func ownersTraffic(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	first, _ := addSeat(t, l.Stores, owner)
	second, _ := addSeat(t, l.Stores, owner)
	foreign, _ := addSeat(t, l.Stores, AddUser(t, l.Stores))
	ofOwner, ofSeat := priced(t, l, owner, money.USD, 10*money.USD), priced(t, l, first, money.USD, 10*money.USD)
	records := []ledger.Record{
		eventOf(t, ofOwner, owner.DeveloperID, ledger.Impression),
		eventOf(t, ofOwner, first.DeveloperID, ledger.Impression),
		eventOf(t, ofSeat, first.DeveloperID, ledger.Impression),
		eventOf(t, ofSeat, second.DeveloperID, ledger.Impression),
		eventOf(t, ofSeat, owner.DeveloperID, ledger.Impression),
		eventOf(t, ofOwner, foreign.DeveloperID, ledger.Impression),
		eventOf(t, ofSeat, foreign.DeveloperID, ledger.Impression),
	}
	outcomes := impressions(t, l, first.DeveloperID, 0, 0, records...)
	for i, o := range outcomes {
		want := ledger.SelfServed
		if i >= 5 {
			want = ledger.OK
		}
		require.Equal(t, want, o.Verdict, "record %d", i)
	}
	requireCredits(t, l, first.DeveloperID, 0)
	requireCredits(t, l, second.DeveloperID, 0)
	requireCredits(t, l, owner.DeveloperID, 0)
	requireCredits(t, l, foreign.DeveloperID, 2)
	requireClean(t, l, ledger.VerifyOptions{})
}

// familyTraffic checks that the ads of an account at the publishers of another account of its
// family are charged: only those at its own seats are its own traffic.
func familyTraffic(t *testing.T, l Ledger) {
	oldest, newer, stranger := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores)
	seat, _ := addSeat(t, l.Stores, newer)
	require.NoError(t, l.Join(t.Context(), newer.ID, oldest.ID))
	ofOldest, ofNewer := priced(t, l, oldest, money.USD, 10*money.USD), priced(t, l, newer, money.USD, 10*money.USD)
	ofStranger := priced(t, l, stranger, money.USD, 10*money.USD)
	want := []ledger.Verdict{
		ledger.OK, ledger.OK, ledger.OK, ledger.SelfServed, ledger.OK, ledger.OK, ledger.OK,
	}
	for i, o := range impressions(
		t, l, oldest.DeveloperID, 0, 0,
		eventOf(t, ofOldest, newer.DeveloperID, ledger.Impression),
		eventOf(t, ofNewer, oldest.DeveloperID, ledger.Impression),
		eventOf(t, ofOldest, seat.DeveloperID, ledger.Impression),
		eventOf(t, ofNewer, seat.DeveloperID, ledger.Impression),
		eventOf(t, ofOldest, stranger.DeveloperID, ledger.Impression),
		eventOf(t, ofStranger, newer.DeveloperID, ledger.Impression),
		eventOf(t, ofStranger, seat.DeveloperID, ledger.Impression),
	) {
		require.Equal(t, want[i], o.Verdict, "record %d", i)
	}
	requireCredits(t, l, stranger.DeveloperID, 1)
	requireCredits(t, l, newer.DeveloperID, 2)
	requireCredits(t, l, oldest.DeveloperID, 1)
	requireClean(t, l, ledger.VerifyOptions{})
}

// ownersDays checks the days of seats and their owner: they come together and name the owner,
// including those without a day today, which count towards the usual rate of all.
func ownersDays(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	first, _ := addSeat(t, l.Stores, owner)
	quiet, _ := addSeat(t, l.Stores, owner)
	foreign, _ := addSeat(t, l.Stores, AddUser(t, l.Stores))
	k := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	view := func(developer uuid.UUID, days int) ledger.Record {
		r := eventOf(t, k, developer, ledger.Impression)
		r.Event.ReceivedAt = now.AddDate(0, 0, -days)
		return r
	}
	impressions(
		t, l, owner.DeveloperID, 0, 0, view(owner.DeveloperID, 1), view(quiet.DeveloperID, 1),
		view(foreign.DeveloperID, 1),
	)
	impressions(t, l, owner.DeveloperID, 0, 3, view(first.DeveloperID, 0), view(newID(t), 0))

	date := day.Of(now)
	days, err := l.Publishers.PublisherDays(t.Context(), date-1, date)
	require.NoError(t, err)
	var family []traffic.PublisherDay
	last := -1
	for i, d := range days {
		require.NotEqual(t, foreign.DeveloperID, d.DeveloperID, "nothing of its owner is active")
		if d.Family() != owner.DeveloperID || d.Impressions == 0 { // rows without a number are allowed
			continue
		}
		require.True(t, last < 0 || last == i-1 || days[i-1].Family() == d.Family(), "they stand together")
		last = i
		family = append(family, d)
	}
	require.ElementsMatch(t, []traffic.PublisherDay{
		{DeveloperID: owner.DeveloperID, Day: date - 1, Minted: 1, Impressions: 1},
		{DeveloperID: first.DeveloperID, OwnerID: owner.DeveloperID, Day: date, Minted: 1, Impressions: 1},
		{DeveloperID: quiet.DeveloperID, OwnerID: owner.DeveloperID, Day: date - 1, Minted: 1, Impressions: 1},
	}, family)
	requireClean(t, l, ledger.VerifyOptions{})
}

// seatQuarantine quarantines a seat: its owner's other seats continue, and a new one does not evade
// it.
func seatQuarantine(t *testing.T, l Ledger) {
	p := l.Publishers
	owner := AddUser(t, l.Stores)
	bad, _ := addSeat(t, l.Stores, owner)
	good, _ := addSeat(t, l.Stores, owner)
	open := ledger.Quarantine{
		ID: newID(t), DeveloperID: bad.DeveloperID, OpenedAt: now,
		Evidence: traffic.Evidence{Rule: traffic.QuarantineManual, By: owner.ID},
	}
	opened, err := p.OpenQuarantine(t.Context(), open)
	require.NoError(t, err)
	require.True(t, opened)
	casesOf := func(seat account.User) []ledger.Quarantine {
		cases, err := p.Quarantines(
			t.Context(), ledger.QuarantineQuery{Developer: seat.DeveloperID, Open: true, Limit: 9},
		)
		require.NoError(t, err)
		return cases
	}
	seatAt := func(at time.Time) account.User {
		seat, k := newSeat(t, owner, at)
		require.NoError(t, l.Stores.Keys.CreateSeat(t.Context(), seat, k))
		return seat
	}
	require.Empty(t, casesOf(good), "one seat's quarantine holds no other")
	follower := seatAt(now)
	require.Len(t, casesOf(follower), 1)
	require.Equal(t, traffic.QuarantineOwner, casesOf(follower)[0].Evidence.Rule)
	foreign, _ := addSeat(t, l.Stores, AddUser(t, l.Stores))
	require.Empty(t, casesOf(foreign))

	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	impressions(
		t, l, good.DeveloperID, 0, 0, eventOf(t, c, good.DeveloperID, ledger.Impression),
		eventOf(t, c, follower.DeveloperID, ledger.Impression),
	)
	require.EqualValues(t, 1, creditsOf(t, l, good.DeveloperID).Pending)
	require.EqualValues(t, 1, creditsOf(t, l, follower.DeveloperID).Quarantined)
	require.EqualValues(t, 0, creditsOf(t, l, follower.DeveloperID).Pending)

	end := func(id uuid.UUID, decision ledger.QuarantineDecision) {
		_, err := p.EndQuarantine(
			t.Context(), ledger.QuarantineVerdict{Case: id, Decision: decision, By: owner.ID, At: now},
		)
		require.NoError(t, err)
	}
	end(casesOf(follower)[0].ID, ledger.QuarantineRelease)
	end(open.ID, ledger.QuarantineClawback)
	remembered := casesOf(seatAt(now.Add(ledger.SeatHistory - time.Hour)))
	require.Len(t, remembered, 1, "a claw-back is remembered")
	end(remembered[0].ID, ledger.QuarantineRelease)
	require.Empty(t, casesOf(seatAt(now.Add(ledger.SeatHistory+time.Hour))))
	requireClean(t, l, ledger.VerifyOptions{})
}
