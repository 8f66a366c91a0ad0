package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

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

var _ notice.Store = (*Notices)(nil)

// noticeState holds what accounts chose and what was reported. Guarded by core.mu.
type noticeState struct {
	settings map[uuid.UUID]notice.Settings
	reported map[reportKey]time.Time
	mails    map[mailKey]*outbox.Message
}

// reportKey makes the report of a fact unique.
type reportKey struct {
	owner uuid.UUID
	event webhook.Event
	once  string
}

// mailKey makes a mail unique.
type mailKey struct {
	owner uuid.UUID
	kind  webhook.Event
	day   day.Day
}

func newNoticeState() noticeState {
	return noticeState{
		settings: make(map[uuid.UUID]notice.Settings), reported: make(map[reportKey]time.Time),
		mails: make(map[mailKey]*outbox.Message),
	}
}

// forget removes what is stored about an account.
func (n *noticeState) forget(account uuid.UUID) {
	delete(n.settings, account)
	maps.DeleteFunc(n.reported, func(k reportKey, _ time.Time) bool { return k.owner == account })
	maps.DeleteFunc(n.mails, func(k mailKey, _ *outbox.Message) bool { return k.owner == account })
}

// prune removes what no rule reads any longer.
func (n *noticeState) prune(now time.Time) {
	before := now.AddDate(0, 0, -60)
	maps.DeleteFunc(n.reported, func(k reportKey, at time.Time) bool {
		return at.Before(before) && k.event != webhook.CampaignFirstAd && k.event != webhook.CampaignBudgetSpent
	})
	maps.DeleteFunc(n.mails, func(k mailKey, _ *outbox.Message) bool { return k.day < day.Of(before) })
}

func (n *noticeState) has(owner uuid.UUID, event webhook.Event, once string) bool {
	_, is := n.reported[reportKey{owner, event, once}]
	return is
}

// settingsOf returns a copy of an account's choice. The caller holds s.mu.
func (s *core) settingsOf(account uuid.UUID) notice.Settings {
	of, chosen := s.notices.settings[account]
	if !chosen {
		return notice.Unset(account)
	}
	of.Off = slices.Clone(of.Off)
	return of
}

// Settings implements notice.Store.
func (s *Notices) Settings(_ context.Context, account uuid.UUID) (notice.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settingsOf(account), nil
}

// UpdateSettings implements notice.Store.
func (s *Notices) UpdateSettings(
	ctx context.Context, account uuid.UUID, edit func(*notice.Settings) error,
) (notice.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.users[account]; !known {
		return notice.Settings{}, errs.New(errs.NotFound, "no such account")
	}
	before, after := s.settingsOf(account), s.settingsOf(account)
	if err := edit(&after); err != nil {
		return after, err
	}
	after.AccountID = account
	if err := s.record(ctx, notice.Entry(&before, &after)); err != nil {
		return after, err
	}
	after.Off = append([]string{}, after.Off...)
	s.notices.settings[account] = after
	return s.settingsOf(account), nil
}

// Confirm implements notice.Store.
func (s *Notices) Confirm(ctx context.Context, account uuid.UUID, address, language string) error {
	_, err := s.UpdateSettings(ctx, account, notice.Confirm(address, language))
	return err
}

// Report implements notice.Store.
func (s *Notices) Report(_ context.Context, f notice.Found) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reportKey{f.OwnerID, f.Event, f.Once}
	if key.owner == uuid.Nil {
		key.owner = f.Publisher
	}
	if _, reported := s.notices.reported[key]; reported {
		return false, nil
	}
	if err := s.writeFact(&f.Fact); err != nil {
		return false, err
	}
	s.notices.reported[key] = s.clock()
	return true, nil
}

// Observe implements notice.Store.
func (s *Notices) Observe(_ context.Context, at notice.Times) (o notice.Observed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices.prune(at.Now)
	o.Charged, o.Balances = s.chargedCampaigns(), s.cash(at.Today())
	o.Silent = s.silent(at)
	if at.Daily {
		o.Released = s.releasedOn(at.Today() - 1)
	}
	if at.Weekly() {
		o.Weeks = s.weeks(at.Today())
	}
	for id, u := range s.users {
		if u.Role == account.RoleAdmin && !u.Disabled {
			o.Admins = append(o.Admins, id)
		}
	}
	slices.SortFunc(o.Admins, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	o.Waiting = s.waitingSince(at.Now.Add(-notice.WaitsLong))
	return o, nil
}

// chargedCampaigns lists active campaigns with a charge whose facts are not all reported.
func (s *core) chargedCampaigns() (list []notice.Charged) {
	for _, c := range s.byAge {
		spent := s.ledger.totals[c.ID]
		if c.Status != campaign.Active || spent.amount <= 0 {
			continue
		}
		left := c.TotalBudget - spent.net()
		if s.notices.has(c.AdvertiserID, webhook.CampaignFirstAd, notice.FirstAd(c.ID)) &&
			(c.TotalBudget <= 0 || left > c.BidAmount ||
				s.notices.has(c.AdvertiserID, webhook.CampaignBudgetSpent, notice.BudgetSpent(c.ID, c.TotalBudget))) {
			continue
		}
		list = append(list, notice.Charged{
			CampaignID: c.ID, AdvertiserID: c.AdvertiserID, Billing: c.BillingModel, Bid: c.BidAmount,
			Total: c.TotalBudget, Spent: spent.net(),
		})
	}
	slices.SortFunc(list, func(a, b notice.Charged) int { return bytes.Compare(a.CampaignID[:], b.CampaignID[:]) })
	return list
}

// cash lists the balances of accounts with active campaigns, with the spend of the days before today.
func (s *core) cash(today day.Day) (list []notice.Balance) {
	spent := map[uuid.UUID]money.Micros{}
	for _, c := range s.byAge {
		if c.Status != campaign.Active || c.CreditFunded {
			continue
		}
		for d := today - notice.SpendDays; d < today; d++ {
			if of, has := s.ledger.spend[spendKey{c.ID, d}]; has {
				spent[c.AdvertiserID] += of.net()
			}
		}
	}
	for id, sum := range spent {
		cash := s.ledger.balances[side{ledger.AdvertiserCash(id), ledger.USD}]
		list = append(list, notice.Balance{AdvertiserID: id, Cash: money.Micros(cash), Spent: sum})
	}
	slices.SortFunc(list, func(a, b notice.Balance) int { return bytes.Compare(a.AdvertiserID[:], b.AdvertiserID[:]) })
	return list
}

// silent lists accounts whose keys showed no ad lately.
func (s *core) silent(at notice.Times) (list []notice.Silent) {
	since := map[uuid.UUID]day.Day{}
	for _, k := range s.keys {
		works := !k.Revoked() && (k.EndsAt.IsZero() || k.EndsAt.After(at.Now))
		if works && (k.Kind == account.KindPublisher || k.Kind == account.KindBrowser) {
			since[k.OwnerID] = max(since[k.OwnerID], day.Of(k.CreatedAt))
		}
	}
	owners := make(map[uuid.UUID]uuid.UUID, len(since)) // by developer id
	for owner := range since {
		owners[s.users[owner].DeveloperID] = owner
	}
	for key, d := range s.ledger.publishers.days {
		owner := owners[key.developer]
		if _, has := since[owner]; has && d.Impressions > 0 {
			since[owner] = max(since[owner], key.day)
		}
	}
	for owner, last := range since {
		if at.Silent(last) && !s.notices.has(owner, webhook.KeyUnused, notice.SilentOnce(last)) {
			list = append(list, notice.Silent{AccountID: owner, DeveloperID: s.users[owner].DeveloperID, Since: last})
		}
	}
	slices.SortFunc(list, func(a, b notice.Silent) int { return bytes.Compare(a.AccountID[:], b.AccountID[:]) })
	return list
}

// releasedOn counts the Credits released on a day, by publisher.
func (s *core) releasedOn(date day.Day) (list []notice.Released) {
	sums := map[uuid.UUID]int64{}
	for _, t := range s.ledger.transactions {
		if t.Kind != ledger.KindCreditRelease || day.Of(t.At) != date {
			continue
		}
		for _, e := range t.Entries {
			sums[t.Subject] += max(0, e.Amount)
		}
	}
	for developer, n := range sums {
		list = append(list, notice.Released{DeveloperID: developer, Day: date, Credits: n})
	}
	slices.SortFunc(list, func(a, b notice.Released) int { return bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]) })
	return list
}

// weeks sums the seven days before today of accounts that ask for it, with their seats.
func (s *core) weeks(today day.Day) (list []notice.Week) {
	for id, of := range s.notices.settings {
		if of.Confirmed == "" || slices.Contains(of.Off, string(notice.WeeklyReport)) {
			continue
		}
		w := notice.Week{AccountID: id}
		for d := today - 7; d < today; d++ {
			for _, c := range s.byAge {
				if u := s.users[c.AdvertiserID]; u.ID == id || u.ParentID == id {
					w.Spent += s.ledger.spend[spendKey{c.ID, d}].net()
				}
			}
			for _, u := range s.users {
				if u.ID == id || u.ParentID == id {
					sums := s.ledger.publishers.days[publisherDay{u.DeveloperID, d}]
					w.Shown, w.Clicks = w.Shown+sums.Impressions, w.Clicks+sums.Clicks
				}
			}
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b notice.Week) int { return bytes.Compare(a.AccountID[:], b.AccountID[:]) })
	return list
}

// Waiting implements notice.Store.
func (s *Notices) Waiting(_ context.Context, before time.Time) (notice.Waiting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitingSince(before), nil
}

func (s *core) waitingSince(before time.Time) (w notice.Waiting) {
	for _, c := range s.byAge {
		if c.Waits() && c.UpdatedAt.Before(before) {
			w.Review++
		}
	}
	reported := map[uuid.UUID]bool{}
	for _, r := range s.reports {
		if r.outcome == "" && r.At.Before(before) {
			reported[r.CampaignID] = true
		}
	}
	w.Reports = len(reported)
	for _, d := range s.decisions {
		for i := range d.Appeals {
			if d.Appeals[i].Outcome == "" && d.Appeals[i].CreatedAt.Before(before) {
				w.Appeals++
			}
		}
	}
	return w
}
