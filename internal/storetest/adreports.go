package storetest

import (
	"testing"
	"time"

	"adnet/internal/account"
	"adnet/internal/adreport"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A report counts once for each auction with a valid impression, settled before or after it; seats
// of one account are one publisher; e-mails go with the decision.
func adReports(t *testing.T, l Ledger) {
	reports, ok := l.Users.(adreport.Store)
	require.True(t, ok)
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	owner := AddUser(t, l.Stores)
	seat := account.User{ID: newID(t), DeveloperID: newID(t), Email: "seat@seats.invalid", Role: account.RoleSeat, TokenVersion: 1, CreatedAt: keyTime, ParentID: owner.ID}
	require.NoError(t, l.Stores.Keys.CreateSeat(t.Context(), seat, account.Key{ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat, Hash: [32]byte{7}, CreatedAt: keyTime}))
	var records []ledger.Record
	file := func(developer uuid.UUID, network byte, email string) {
		t.Helper()
		records = append(records, eventOf(t, c, developer, ledger.Impression))
		id := records[len(records)-1].Event.AuctionID
		r := adreport.Report{AuctionID: id, AuctionDay: day.OfUUID(id), CampaignID: c.ID, AdvertiserID: c.AdvertiserID, DeveloperID: developer, Network: [16]byte{network},
			Headline: "Chess", Reason: "scam", Text: "Take care.", Email: email, At: now}
		added, err := reports.AddReport(t.Context(), r)
		require.NoError(t, err)
		require.True(t, added)
		r.Text = "again"
		added, err = reports.AddReport(t.Context(), r)
		require.NoError(t, err)
		require.False(t, added, "one of each auction")
	}
	count := func(since time.Time) adreport.Counts {
		t.Helper()
		counts, err := reports.CountReports(t.Context(), c.ID, since)
		require.NoError(t, err)
		return counts
	}
	file(owner.DeveloperID, 1, "a@example.com")
	file(seat.DeveloperID, 2, "")
	file(newID(t), 2, "a@example.com")
	got := count(now)
	require.Equal(t, []int{3, 0, 0, 0}, []int{got.Reports, got.Counted, got.Networks, got.Publishers}, "nothing is settled yet")
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, records[:2]...))
	require.NoError(t, err)
	got = count(now)
	require.Equal(t, []int{3, 2, 2, 1}, []int{got.Reports, got.Counted, got.Networks, got.Publishers})
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 2, records[2:]...))
	require.NoError(t, err)
	list, total, err := reports.ReportedCampaigns(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	got = list[0].Counts
	require.Equal(t, []int{3, 3, 2, 2}, []int{got.Reports, got.Counted, got.Networks, got.Publishers})
	require.Equal(t, map[string]int{"scam": 3}, got.Reasons)
	require.Equal(t, adreport.Text{At: now, Reason: "scam", Headline: "Chess", Text: "Take care.", Counted: true}, got.Texts[0])
	require.Zero(t, count(now.Add(time.Second)).Reports)

	d := adreport.Decision{CampaignID: c.ID, Outcome: adreport.Kept, Words: "Fine.", By: owner.ID, At: now}
	emails, err := reports.DecideReports(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, []string{"a@example.com"}, emails)
	_, err = reports.DecideReports(t.Context(), d)
	requireCode(t, err, errs.InvalidState)
	require.Zero(t, count(now).Reports)
	_, total, err = reports.ReportedCampaigns(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Zero(t, total)

	// An e-mail that nobody decides about is forgotten all the same.
	file(owner.DeveloperID, 1, "b@example.com")
	old := adreport.Report{AuctionID: newID(t), CampaignID: newID(t), Reason: "other", At: now.Add(adreport.EmailLife + time.Hour)}
	_, err = reports.AddReport(t.Context(), old)
	require.NoError(t, err)
	emails, err = reports.DecideReports(t.Context(), d)
	require.NoError(t, err)
	require.Empty(t, emails)
}
