package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
)

var _ adreport.Store = (*AdReports)(nil)

// keptReport is a report with the decision about it.
type keptReport struct {
	adreport.Report
	counted bool
	outcome string
}

// AddReport implements adreport.Store.
func (s *AdReports) AddReport(_ context.Context, r adreport.Report) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reports[r.AuctionID] != nil {
		return false, nil
	}
	r.At = asStored(r.At)
	s.reports[r.AuctionID] = &keptReport{Report: r}
	return true, nil
}

// forgetReports is the part of [Retention.Retain] for reports of ads; the caller holds s.mu.
func (s *core) forgetReports(cut ledger.Cutoffs, dry bool, r *ledger.Removed) {
	for id, held := range s.reports {
		old := held.At.Before(cut.Reports)
		if old {
			r.Reports++
		}
		if held.Email != "" && held.At.Before(cut.Emails) && (dry || !old) {
			r.Emails++
			if !dry {
				held.Email = ""
			}
		}
		if old && !dry {
			delete(s.reports, id)
		}
	}
}

// waitingReports returns the undecided reports by campaign, each counted by the marks of
// settlement; the caller holds s.mu.
func (s *core) waitingReports(since time.Time) map[uuid.UUID][]*keptReport {
	found := make(map[uuid.UUID][]*keptReport)
	for _, r := range s.reports {
		if r.outcome != "" || r.At.Before(since) {
			continue
		}
		if _, marked := s.ledger.billed[ledger.Key{
			Day: r.AuctionDay, Auction: r.AuctionID, Type: ledger.Impression,
		}]; marked {
			r.counted = true
		}
		found[r.CampaignID] = append(found[r.CampaignID], r)
	}
	for _, list := range found {
		slices.SortFunc(list, func(a, b *keptReport) int {
			return cmp.Or(b.At.Compare(a.At), bytes.Compare(a.AuctionID[:], b.AuctionID[:]))
		})
	}
	return found
}

func (s *core) countsOf(list []*keptReport) adreport.Counts {
	c := adreport.Counts{Reasons: make(map[string]int), Texts: []adreport.Text{}}
	networks, publishers := map[[16]byte]bool{}, map[uuid.UUID]bool{}
	for i, r := range list {
		if i == 0 {
			c.Newest = r.At
		}
		c.Reports++
		c.Reasons[r.Reason]++
		if len(c.Texts) < 20 {
			c.Texts = append(
				c.Texts,
				adreport.Text{
					At: r.At, Reason: r.Reason, Headline: r.Headline, Text: r.Text, DeveloperID: r.DeveloperID,
					Counted: r.counted,
				},
			)
		}
		if !r.counted {
			continue
		}
		c.Counted++
		networks[r.Network] = true
		publishers[s.publisherFamily(r.DeveloperID)] = true
	}
	c.Networks, c.Publishers = len(networks), len(publishers)
	return c
}

// CountReports implements adreport.Store.
func (s *AdReports) CountReports(_ context.Context, campaign uuid.UUID, since time.Time) (adreport.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(
		s.waitingReports(since)[campaign], func(r *keptReport) bool { return r.Reason == adreport.UnsuitablePlace },
	)
	if len(list) == 0 {
		return adreport.Counts{}, nil
	}
	return s.countsOf(list), nil
}

// Reporters implements adreport.Store.
func (s *AdReports) Reporters(
	_ context.Context, campaign uuid.UUID, since time.Time, least int,
) (families []uuid.UUID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	billed := map[uuid.UUID]map[day.Day]bool{}
	for key, d := range s.ledger.publishers.days {
		if d.Minted > 0 {
			of := s.publisherFamily(d.DeveloperID)
			if billed[of] == nil {
				billed[of] = map[day.Day]bool{}
			}
			billed[of][key.day] = true
		}
	}
	for _, r := range s.waitingReports(since)[campaign] {
		of := s.publisherFamily(r.DeveloperID)
		if r.counted && r.Reason != adreport.UnsuitablePlace && len(billed[of]) >= least &&
			!slices.Contains(families, of) {
			families = append(families, of)
		}
	}
	slices.SortFunc(families, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return families, nil
}

// publisherFamily returns the family of a publisher; its own id if no account has it. The caller
// holds s.mu.
func (s *core) publisherFamily(developer uuid.UUID) uuid.UUID {
	if id, known := s.publishers[developer]; known {
		return s.familyOf(id)
	}
	return developer
}

// ReportedCampaigns implements adreport.Store.
func (s *AdReports) ReportedCampaigns(_ context.Context, limit, offset int) ([]adreport.Reported, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []adreport.Reported
	for id, list := range s.waitingReports(time.Time{}) {
		all = append(all, adreport.Reported{CampaignID: id, Counts: s.countsOf(list)})
	}
	slices.SortFunc(all, func(a, b adreport.Reported) int {
		return cmp.Or(b.Counted-a.Counted, b.Reports-a.Reports, bytes.Compare(a.CampaignID[:], b.CampaignID[:]))
	})
	page := all[min(offset, len(all)):]
	return page[:min(limit, len(page))], len(all), nil
}

// ReportsOf implements adreport.Store.
func (s *AdReports) ReportsOf(_ context.Context, campaigns []uuid.UUID) (all []adreport.Reported, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waitingReports(time.Time{})
	for _, id := range campaigns {
		if list := waiting[id]; len(list) > 0 {
			all = append(all, adreport.Reported{CampaignID: id, Counts: s.countsOf(list)})
		}
	}
	return all, nil
}

// reported returns the campaigns with undecided reports that count; the caller holds s.mu.
func (s *core) reported() map[uuid.UUID]bool {
	found := make(map[uuid.UUID]bool)
	for id, list := range s.waitingReports(time.Time{}) {
		found[id] = slices.ContainsFunc(list, func(r *keptReport) bool { return r.counted })
	}
	return found
}

// DecideReports implements adreport.Store.
func (s *AdReports) DecideReports(ctx context.Context, d adreport.Decision) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.waitingReports(time.Time{})[d.CampaignID]
	if len(list) == 0 {
		return nil, errs.New(errs.InvalidState, "no report of this campaign waits")
	}
	if err := s.record(ctx, auditlog.OfReports(d.CampaignID, d.Outcome, d.Words, len(list))); err != nil {
		return nil, err
	}
	var left []string
	for _, r := range list {
		left = append(left, r.Email)
		r.outcome, r.Email = d.Outcome, ""
	}
	return adreport.Addresses(left), nil
}
