package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/outbound/notice"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

// Notices is the stores of mails, beside those of the changes.
type Notices struct {
	Stores
	Notices   notice.Store
	Endpoints webhook.Store
	Outbox    outbox.Store
	Forget    func(ctx context.Context, account uuid.UUID) error // see person.Accounts
}

// RunNotices runs the cases of mails.
func RunNotices(t *testing.T, newStore func(t *testing.T) Notices) {
	for name, run := range map[string]func(*testing.T, Notices){
		"ChoicesAreKept": choicesAreKept, "OnlyConfirmedAccountsHaveMails": onlyConfirmed,
		"OneMailADay": oneMailADay, "ManyWritersOneMail": manyWriters, "FactsAreReportedOnce": reportedOnce,
		"CampaignsAreObserved": campaignsObserved, "BalancesAreObserved": balancesObserved,
		"KeysAreObserved": keysObserved, "WaitingIsCounted": waitingCounted, "ErasureForgetsMails": erasureForgets,
		"WeeksAreForThoseWhoAsk": weeksObserved,
	} {
		t.Run(name, func(t *testing.T) { run(t, newStore(t)) })
	}
}

// confirmed creates an account whose address a mailed link confirmed.
func confirmed(t *testing.T, s Notices) account.User {
	t.Helper()
	u := AddUser(t, s.Stores)
	require.NoError(t, s.Notices.Confirm(t.Context(), u.ID, u.Email, "de"))
	return u
}

// mails claims all mails that are due at a time, and ends them as delivered.
func mails(t *testing.T, s Notices, at time.Time) []outbox.Message {
	t.Helper()
	list, err := s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
		Topic: outbox.Mails, Now: at, Lease: time.Minute, Most: 1000, PerTarget: 1000,
	})
	require.NoError(t, err)
	for _, m := range list {
		require.NoError(t, s.Outbox.EndAttempt(t.Context(), outbox.Ended{Message: m, At: at, State: outbox.Delivered}))
	}
	return list
}

func choicesAreKept(t *testing.T, s Notices) {
	u, other := AddUser(t, s.Stores), AddUser(t, s.Stores)
	of, err := s.Notices.Settings(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, notice.Unset(u.ID), of)
	require.NoError(t, s.Notices.Confirm(t.Context(), u.ID, u.Email, "de"))
	of, err = s.Notices.UpdateSettings(t.Context(), u.ID, func(n *notice.Settings) error {
		n.Off = []string{"campaign.ended"}
		return nil
	})
	require.NoError(t, err)
	want := notice.Settings{AccountID: u.ID, Confirmed: u.Email, Language: "de", Off: []string{"campaign.ended"}}
	require.Equal(t, want, of)
	of, err = s.Notices.Settings(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, want, of)
	of, err = s.Notices.Settings(t.Context(), other.ID)
	require.NoError(t, err)
	require.Equal(t, notice.Unset(other.ID), of)
	_, err = s.Notices.UpdateSettings(t.Context(), u.ID, func(*notice.Settings) error {
		return errs.New(errs.InvalidRequest, "no")
	})
	requireCode(t, err, errs.InvalidRequest)
	_, err = s.Notices.UpdateSettings(t.Context(), newID(t), func(*notice.Settings) error { return nil })
	requireCode(t, err, errs.NotFound)
}

func onlyConfirmed(t *testing.T, s Notices) {
	stranger, u := AddUser(t, s.Stores), confirmed(t, s)
	_, err := s.Notices.UpdateSettings(t.Context(), u.ID, func(n *notice.Settings) error {
		n.Off = []string{"campaign.ended"}
		return nil
	})
	require.NoError(t, err)
	AddCampaign(t, s.Stores, stranger.ID, campaign.Active)
	archive(t, Webhooks{s.Stores, s.Endpoints, s.Outbox}, AddCampaign(t, s.Stores, u.ID, campaign.Active).ID)
	list := mails(t, s, time.Now().Add(time.Hour))
	require.Equal(t, []string{"campaign.approved"}, kinds(list))
	require.Equal(t, u.ID, list[0].Owner)
	require.Equal(t, u.ID, list[0].Target)
}

// oneMailADay: a mail collects until it is attempted; what follows waits for the next day.
func oneMailADay(t *testing.T, s Notices) {
	u := confirmed(t, s)
	seat, _ := addSeat(t, s.Stores, u)
	first := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	second := AddCampaign(t, s.Stores, seat.ID, campaign.Active)
	require.Empty(t, mails(t, s, time.Now()), "it collects first")
	list := mails(t, s, time.Now().Add(notice.Gather+time.Second))
	require.Len(t, list, 1)
	lines := notice.Lines(list[0].Payload)
	require.Len(t, lines, 2)
	require.Equal(t, []uuid.UUID{first.ID, second.ID}, []uuid.UUID{lines[0].CampaignID, lines[1].CampaignID})

	third := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	fourth := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	require.Empty(t, mails(t, s, (day.Of(time.Now())+1).Time().Add(-time.Second)), "no second mail of the day")
	list = mails(t, s, (day.Of(time.Now()) + 2).Time())
	require.Len(t, list, 1)
	lines = notice.Lines(list[0].Payload)
	require.Equal(t, []uuid.UUID{third.ID, fourth.ID}, []uuid.UUID{lines[0].CampaignID, lines[1].CampaignID})

	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	require.Empty(t, mails(t, s, (day.Of(time.Now())+2).Time()), "both days have had theirs")
}

// manyWriters: changes at the same time write one mail, and no sender takes it twice.
func manyWriters(t *testing.T, s Notices) {
	u := confirmed(t, s)
	var all sync.WaitGroup
	failed := make(chan error, 8)
	for i := range cap(failed) {
		all.Go(func() {
			_, err := s.Notices.Report(t.Context(), notice.Found{Once: fmt.Sprint(i), Fact: webhook.Fact{
				Event: webhook.KeyUnused, OwnerID: u.ID, About: "user " + u.ID.String(), Data: map[string]any{"since": "x"},
			}})
			failed <- err
		})
	}
	all.Wait()
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	at, claimed := time.Now().Add(time.Hour), make(chan int, 8)
	for range cap(claimed) {
		all.Go(func() {
			list, err := s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
				Topic: outbox.Mails, Now: at, Lease: time.Minute, Most: 10, PerTarget: 10,
			})
			if err == nil && len(list) > 0 && bytes.Count(list[0].Payload, []byte("\n")) != 8 {
				claimed <- 100
				return
			}
			claimed <- len(list)
		})
	}
	all.Wait()
	sum := 0
	for range cap(claimed) {
		sum += <-claimed
	}
	require.Equal(t, 1, sum)
	// The process died: the next one sees an attempt without a result.
	list, err := s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
		Topic: outbox.Mails, Now: at.Add(time.Hour), Lease: time.Minute, Most: 10, PerTarget: 10,
	})
	require.NoError(t, err)
	require.Equal(t, []int{2, 0}, []int{list[0].Attempts, list[0].Results})
	require.NoError(t, s.Outbox.EndAttempt(t.Context(), outbox.After(list[0], at.Add(time.Hour), 0, "away")))
	list, err = s.Outbox.ClaimMessages(t.Context(), outbox.Claim{
		Topic: outbox.Mails, Now: at.Add(2 * time.Hour), Lease: time.Minute, Most: 10, PerTarget: 10,
	})
	require.NoError(t, err)
	require.Equal(t, []int{3, 1}, []int{list[0].Attempts, list[0].Results})
}

func reportedOnce(t *testing.T, s Notices) {
	u := confirmed(t, s)
	e := addEndpoint(t, Webhooks{s.Stores, s.Endpoints, s.Outbox}, u.ID)
	add := func(once string) bool {
		written, err := s.Notices.Report(t.Context(), notice.Found{Once: once, Fact: webhook.Fact{
			Event: webhook.CreditsReleased, Publisher: u.DeveloperID, About: "publisher x", Data: map[string]any{"credits": 7},
		}})
		require.NoError(t, err)
		return written
	}
	require.True(t, add("2026-03-04"))
	require.False(t, add("2026-03-04"))
	require.True(t, add("2026-03-05"))
	require.Equal(
		t, []string{"credits.released", "credits.released"},
		kinds(deliveries(t, Webhooks{s.Stores, s.Endpoints, s.Outbox}, e)),
	)
	list := mails(t, s, time.Now().Add(time.Hour))
	require.Len(t, list, 1)
	require.Equal(t, int64(7), notice.Lines(list[0].Payload)[1].Credits)
}

// observed observes now.
func observed(t *testing.T, s Notices, at notice.Times) notice.Observed {
	t.Helper()
	o, err := s.Notices.Observe(t.Context(), at)
	require.NoError(t, err)
	return o
}

// reportFound reports all that was found, and returns the events of an account.
func reportFound(t *testing.T, s Notices, at notice.Times, o notice.Observed, owner uuid.UUID) (events []string) {
	t.Helper()
	for _, f := range o.Find(at) {
		written, err := s.Notices.Report(t.Context(), f)
		require.NoError(t, err)
		if written && (f.OwnerID == owner) {
			events = append(events, string(f.Event))
		}
	}
	return events
}

func campaignsObserved(t *testing.T, s Notices) {
	u, at := confirmed(t, s), notice.Times{Now: time.Now()}
	c := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	require.Empty(t, observed(t, s, at).Charged)
	spend := func(amount money.Micros) {
		require.NoError(t, s.Inside.Spend(t.Context(), ledger.Spend{CampaignID: c.ID, Day: at.Today(), Amount: amount}))
	}
	spend(5 * money.USD)
	o := observed(t, s, at)
	require.Equal(t, []notice.Charged{{
		CampaignID: c.ID, AdvertiserID: u.ID, Billing: c.BillingModel, Bid: c.BidAmount, Total: c.TotalBudget,
		Spent: 5 * money.USD,
	}}, o.Charged)
	require.Equal(t, []string{"campaign.first_ad"}, reportFound(t, s, at, o, u.ID))
	require.Empty(t, observed(t, s, at).Charged, "it is reported")
	spend(c.TotalBudget - 7*money.USD)
	require.Empty(t, observed(t, s, at).Charged, "an ad still has room")
	spend(money.USD)
	require.Equal(t, []string{"campaign.budget_spent"}, reportFound(t, s, at, observed(t, s, at), u.ID))
	require.Empty(t, observed(t, s, at).Charged)
}

func balancesObserved(t *testing.T, s Notices) {
	u, at := confirmed(t, s), notice.Times{Now: time.Now()}
	c := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	other := AddCampaign(t, s.Stores, AddUser(t, s.Stores).ID, campaign.Paused)
	for d := range day.Day(10) {
		require.NoError(t, s.Inside.Spend(
			t.Context(), ledger.Spend{CampaignID: c.ID, Day: at.Today() - d, Amount: money.USD},
		))
	}
	require.NoError(t, s.Inside.Spend(
		t.Context(), ledger.Spend{CampaignID: other.ID, Day: at.Today() - 1, Amount: money.USD},
	))
	o := observed(t, s, at)
	require.Equal(t, []notice.Balance{{AdvertiserID: u.ID, Spent: 7 * money.USD}}, o.Balances)
	require.Contains(t, reportFound(t, s, at, o, u.ID), "balance.low")
	require.NotContains(t, reportFound(t, s, at, observed(t, s, at), u.ID), "balance.low", "once a week")
}

func keysObserved(t *testing.T, s Notices) {
	u, at := confirmed(t, s), notice.Times{Now: time.Now()}
	add := func(owner account.User, age int, kind account.KeyKind) {
		k := account.Key{
			ID: newID(t), OwnerID: owner.ID, DeveloperID: owner.DeveloperID, Kind: kind, Name: "k", Prefix: "pk",
			Hash: [32]byte(append(owner.ID[:], newHash(t)...)), CreatedAt: (at.Today() - day.Day(age)).Time(),
		}
		require.NoError(t, s.Keys.CreateKey(t.Context(), k))
	}
	add(u, 15, account.KindPublisher)
	add(AddUser(t, s.Stores), 13, account.KindPublisher)
	add(AddUser(t, s.Stores), 29, account.KindPublisher)
	both := AddUser(t, s.Stores)
	add(both, 20, account.KindPublisher)
	add(both, 2, account.KindPublisher)
	o := observed(t, s, at)
	require.Equal(t, []notice.Silent{{AccountID: u.ID, DeveloperID: u.DeveloperID, Since: at.Today() - 15}}, o.Silent)
	require.Equal(t, []string{"key.unused"}, reportFound(t, s, at, o, u.ID))
	require.Empty(t, observed(t, s, at).Silent)
}

func newHash(t *testing.T) []byte {
	id := newID(t)
	return id[:]
}

func waitingCounted(t *testing.T, s Notices) {
	u := AddUser(t, s.Stores)
	admin := addAdmin(t, s.Stores)
	AddCampaign(t, s.Stores, u.ID, campaign.InReview)
	AddCampaign(t, s.Stores, u.ID, campaign.Draft)
	w, err := s.Notices.Waiting(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, notice.Waiting{Review: 1}, w)
	at := notice.Times{Now: time.Now().Add(48 * time.Hour)}
	o := observed(t, s, at)
	require.Equal(t, []uuid.UUID{admin.ID}, o.Admins)
	require.Equal(t, 1, o.Waiting.Review)
	require.Equal(t, []string{"review.waiting"}, reportFound(t, s, at, o, admin.ID))
	o = observed(t, s, notice.Times{Now: time.Now().Add(-48 * time.Hour)})
	require.Zero(t, o.Waiting)
}

func addAdmin(t *testing.T, s Stores) account.User {
	t.Helper()
	u := AddUser(t, s)
	u, err := s.Users.UpdateUser(t.Context(), u.ID, func(u *account.User) error {
		u.Role = account.RoleAdmin
		return nil
	})
	require.NoError(t, err)
	return u
}

func weeksObserved(t *testing.T, s Notices) {
	u := confirmed(t, s)
	monday := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	c := AddCampaign(t, s.Stores, u.ID, campaign.Active)
	for _, back := range []day.Day{0, 1, 7, 8} {
		require.NoError(t, s.Inside.Spend(
			t.Context(), ledger.Spend{CampaignID: c.ID, Day: day.Of(monday) - back, Amount: money.USD},
		))
	}
	require.Empty(t, observed(t, s, notice.Times{Now: monday, Daily: true}).Weeks, "it is off at first")
	_, err := s.Notices.UpdateSettings(t.Context(), u.ID, func(n *notice.Settings) error {
		n.Off = nil
		return nil
	})
	require.NoError(t, err)
	require.Equal(
		t, []notice.Week{{AccountID: u.ID, Spent: 2 * money.USD}},
		observed(t, s, notice.Times{Now: monday, Daily: true}).Weeks,
	)
	require.Empty(t, observed(t, s, notice.Times{Now: monday.AddDate(0, 0, 1), Daily: true}).Weeks)
	require.Empty(t, observed(t, s, notice.Times{Now: monday}).Weeks)
}

func erasureForgets(t *testing.T, s Notices) {
	u := confirmed(t, s)
	AddCampaign(t, s.Stores, u.ID, campaign.Active)
	_, err := s.Users.UpdateUser(t.Context(), u.ID, (*account.User).Erase)
	require.NoError(t, err)
	require.NoError(t, s.Forget(t.Context(), u.ID))
	require.Empty(t, mails(t, s, time.Now().Add(time.Hour)))
	of, err := s.Notices.Settings(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, notice.Unset(u.ID), of)
}
