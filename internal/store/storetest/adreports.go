package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// An ad sold before its advertiser was suspended is paid when its impression arrives: its publisher
// showed it in good faith. Only a pause of the campaign ends charges.
func suspendedAdvertiserPays(t *testing.T, l Ledger) {
	advertiser := AddUser(t, l.Stores)
	c := priced(t, l, advertiser, money.USD, 10*money.USD)
	developer := newID(t)
	_, err := l.Users.RuleUser(
		t.Context(), account.Ruling{UserID: advertiser.ID, Edit: disabled(true), Reason: "Stolen cards."},
	)
	require.NoError(t, err)
	outcomes := impressions(t, l, developer, 0, 0, eventOf(t, c, developer, ledger.Impression))
	require.Equal(t, []ledger.Outcome{{Verdict: ledger.OK, Charge: 10_000, Minted: 1}}, outcomes)
	requireCredits(t, l, developer, 1)
	requireClean(t, l, ledger.VerifyOptions{})
}

// reportedWait returns the campaigns that wait for a reviewer.
func reportedWait(t *testing.T, l Ledger) []uuid.UUID {
	t.Helper()
	page, total, err := l.Stores.Campaigns.Campaigns(t.Context(), campaign.Filter{Waiting: true, Queued: campaign.QueuedPending})
	require.NoError(t, err)
	require.Len(t, page, total)
	return ids(page)
}

// A report counts once for each auction with a valid impression, settled before or after it; seats
// of one account are one publisher; e-mails are removed with the decision. A live campaign waits
// for a reviewer while a counted report of it waits.
func adReports(t *testing.T, l Ledger) {
	reports := l.AdReports
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	_, err := l.Stores.Campaigns.UpdateCampaign(t.Context(), c.ID, func(k *campaign.Campaign) error {
		k.Status, k.PolicyViolations = campaign.Active, nil
		return nil
	})
	require.NoError(t, err)
	owner := AddUser(t, l.Stores)
	seat := account.User{
		ID: newID(t), DeveloperID: newID(t), Email: "seat@seats.invalid", Role: account.RoleSeat, TokenVersion: 1,
		CreatedAt: keyTime, ParentID: owner.ID,
	}
	require.NoError(
		t,
		l.Stores.Keys.CreateSeat(
			t.Context(), seat,
			account.Key{
				ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat,
				Hash: [32]byte{7}, CreatedAt: keyTime,
			},
		),
	)
	var records []ledger.Record
	file := func(developer uuid.UUID, network byte, email string) {
		t.Helper()
		records = append(records, eventOf(t, c, developer, ledger.Impression))
		id := records[len(records)-1].Event.AuctionID
		r := adreport.Report{AuctionID: id, AuctionDay: day.OfUUID(id), CampaignID: c.ID, AdvertiserID: c.AdvertiserID,
			DeveloperID: developer, Network: [16]byte{network},
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
	require.Equal(
		t, []int{3, 0, 0, 0}, []int{got.Reports, got.Counted, got.Networks, got.Publishers}, "nothing is settled yet",
	)
	require.Empty(t, reportedWait(t, l), "what does not count keeps no reviewer busy")
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 0, records[:2]...))
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
	families, err := reports.Reporters(t.Context(), c.ID, now, 1)
	require.NoError(t, err)
	require.Contains(t, families, owner.ID)
	families, err = reports.Reporters(t.Context(), c.ID, now, 2)
	require.NoError(t, err)
	require.Empty(t, families, "one billed day")
	require.Equal(t, map[string]int{"scam": 3}, got.Reasons)
	byOwner := func(text adreport.Text) bool { return text.DeveloperID == owner.DeveloperID }
	require.True(t, slices.ContainsFunc(got.Texts, byOwner), "who showed it is known")
	newest := got.Texts[0]
	newest.DeveloperID = uuid.Nil
	require.Equal(
		t, adreport.Text{At: now, Reason: "scam", Headline: "Chess", Text: "Take care.", Counted: true}, newest,
	)
	require.Zero(t, count(now.Add(time.Second)).Reports)
	these, err := reports.ReportsOf(t.Context(), []uuid.UUID{c.ID, newID(t)})
	require.NoError(t, err)
	require.Equal(t, list, these)
	require.Equal(t, []uuid.UUID{c.ID}, reportedWait(t, l), "it is live, and waits for its reports")

	d := adreport.Decision{CampaignID: c.ID, Outcome: adreport.Dismissed, Words: "Fine.", By: owner.ID, At: now}
	emails, err := reports.DecideReports(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, []string{"a@example.com"}, emails)
	_, err = reports.DecideReports(t.Context(), d)
	requireCode(t, err, errs.InvalidState)
	require.Zero(t, count(now).Reports)
	require.Empty(t, reportedWait(t, l))
	_, total, err = reports.ReportedCampaigns(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Zero(t, total)

	// A report of a wrong placement opens a case, and does not count towards stopping the ad.
	placed := adreport.Report{
		AuctionID: newID(t), AuctionDay: day.Of(now), CampaignID: c.ID, AdvertiserID: c.AdvertiserID,
		DeveloperID: owner.DeveloperID, Reason: adreport.UnsuitablePlace, At: now,
	}
	_, err = reports.AddReport(t.Context(), placed)
	require.NoError(t, err)
	require.Zero(t, count(now).Reports)
	list, _, err = reports.ReportedCampaigns(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Equal(
		t, []adreport.Text{{At: now, Reason: adreport.UnsuitablePlace, DeveloperID: owner.DeveloperID}}, list[0].Texts,
	)
	_, err = reports.DecideReports(t.Context(), d)
	require.NoError(t, err)

	// An e-mail without a decision is also removed.
	file(owner.DeveloperID, 1, "b@example.com")
	cut := ledger.Cutoffs{Emails: now.Add(time.Hour), Reports: now.Add(-time.Hour)}
	for _, dry := range []bool{true, false} {
		gone, err := l.Retention.Retain(t.Context(), cut, dry)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 0}, []int64{gone.Emails, gone.Reports})
	}
	emails, err = reports.DecideReports(t.Context(), d)
	require.NoError(t, err)
	require.Empty(t, emails)
	gone, err := l.Retention.Retain(t.Context(), ledger.Cutoffs{Reports: now.Add(time.Hour)}, false)
	require.NoError(t, err)
	require.EqualValues(t, 5, gone.Reports)
}
