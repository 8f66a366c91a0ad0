package load

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
)

// importCampaigns distributes the campaigns over the advertisers, in turn, and has the
// administrator approve those without findings of the policy check. An advertiser's campaigns are
// created in order; on accounts of an earlier run the existing number is skipped.
func (l *Load) importCampaigns(ctx context.Context) error {
	list, err := readCampaigns(l.cfg.Campaigns)
	if err != nil || len(list) == 0 {
		return err
	}
	var admin session
	if l.cfg.AdminEmail == "" {
		l.tally.note("without --admin-email no administrator approves campaigns: only the first of an advertiser delivers")
	} else if admin, err = l.client.login(ctx, l.cfg.AdminEmail, l.cfg.AdminPassword); err != nil {
		return fmt.Errorf("administrator %s: %w", l.cfg.AdminEmail, err)
	}
	bar := l.bar("import campaigns", len(list))
	defer bar.end()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(l.cfg.Concurrency, setupConcurrency))
	for i := range min(l.cfg.Advertisers, len(list)) {
		g.Go(func() error {
			account := advertiser{load: l, admin: admin.Token, bar: bar}
			if err := account.run(ctx, l.email("advertiser", i), every(list, i, l.cfg.Advertisers)); err != nil {
				return fmt.Errorf("import campaigns: %w", err)
			}
			return nil
		})
	}
	return g.Wait()
}

// every returns each step-th value, starting with first.
func every[T any](all []T, first, step int) []T {
	var some []T
	for i := first; i < len(all); i += step {
		some = append(some, all[i])
	}
	return some
}

// advertiser imports the campaigns of one account.
type advertiser struct {
	load  *Load
	admin string // token; empty without an administrator
	bar   *bar
	session
}

// campaignPage is a list of campaigns, or the review queue.
type campaignPage struct {
	Campaigns []struct {
		ID         string `json:"id"`
		Violations []any  `json:"policy_violations"`
	} `json:"campaigns"`
	Total int `json:"total"`
}

func (a *advertiser) run(ctx context.Context, email string, list []newCampaign) error {
	var err error
	if a.session, err = a.load.enter(ctx, email); err != nil {
		return err
	}
	have, err := a.total(ctx, "")
	if err != nil {
		return err
	}
	have = min(have, len(list))
	a.bar.add(have)
	a.load.tally.campaigns(CampaignReport{Existing: have})
	for _, c := range list[have:] {
		if err := a.create(ctx, c); err != nil {
			return err
		}
		a.bar.add(1)
	}
	if a.admin != "" {
		if err := a.approve(ctx); err != nil {
			return err
		}
	}
	if err := a.own(ctx); err != nil {
		return err
	}
	active, err := a.total(ctx, "active")
	if err != nil {
		return err
	}
	waiting, err := a.total(ctx, "in_review")
	if err != nil {
		return err
	}
	a.load.tally.campaigns(CampaignReport{Active: active, InReview: waiting})
	return nil
}

// create sends one campaign. A campaign that the service rejects as invalid is counted and left
// out: a list of real campaigns usually has some.
func (a *advertiser) create(ctx context.Context, c newCampaign) error {
	body := make(newCampaign, len(c)+1)
	for name, value := range c {
		body[name] = value
	}
	id, err := jsontext.AppendQuote(nil, a.User.ID)
	if err != nil {
		return err
	}
	body["advertiser_id"] = id
	err = a.load.client.do(
		ctx, call{method: http.MethodPost, path: "/api/campaigns?action=create", bearer: a.Token, body: body}, nil,
	)
	switch {
	case isStatus(err, http.StatusBadRequest):
		a.load.tally.campaigns(CampaignReport{Refused: 1})
		a.load.tally.note("a campaign was refused: " + err.Error())
		return nil
	case err != nil:
		return err
	}
	a.load.tally.campaigns(CampaignReport{Imported: 1})
	return nil
}

// own records the account's campaigns, to report their conversions.
func (a *advertiser) own(ctx context.Context) error {
	const limit = 200
	for offset := 0; ; offset += limit {
		query := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
		var page campaignPage
		if err := a.load.client.do(
			ctx, call{method: http.MethodGet, path: "/api/campaigns?" + query.Encode(), bearer: a.Token}, &page,
		); err != nil {
			return err
		}
		a.load.mu.Lock()
		for _, c := range page.Campaigns {
			a.load.owners[c.ID] = a.Token
		}
		a.load.mu.Unlock()
		if len(page.Campaigns) < limit {
			return nil
		}
	}
}

// approve approves all clean campaigns of the account in the review queue. It reads the whole queue
// first, because every decision shortens the queue.
func (a *advertiser) approve(ctx context.Context) error {
	const limit = 200
	var clean []string
	for offset := 0; ; offset += limit {
		query := url.Values{
			"action": {"review_queue"}, "advertiser_id": {a.User.ID}, "limit": {strconv.Itoa(limit)},
			"offset": {strconv.Itoa(offset)},
		}
		var page campaignPage
		if err := a.load.client.do(
			ctx, call{method: http.MethodGet, path: "/api/campaigns?" + query.Encode(), bearer: a.admin}, &page,
		); err != nil {
			return err
		}
		for _, c := range page.Campaigns {
			if len(c.Violations) == 0 {
				clean = append(clean, c.ID)
			}
		}
		if len(page.Campaigns) < limit {
			break
		}
	}
	for _, id := range clean {
		body := map[string]string{"id": id, "decision": "approved", "notes": "adnet load"}
		if err := a.load.client.do(
			ctx, call{method: http.MethodPost, path: "/api/campaigns?action=review", bearer: a.admin, body: body}, nil,
		); err != nil {
			return err
		}
	}
	return nil
}

// total counts the account's campaigns with status, or all if it is empty.
func (a *advertiser) total(ctx context.Context, status string) (int, error) {
	var page campaignPage
	query := url.Values{"limit": {"1"}}
	if status != "" {
		query.Set("status", status)
	}
	err := a.load.client.do(
		ctx, call{method: http.MethodGet, path: "/api/campaigns?" + query.Encode(), bearer: a.Token}, &page,
	)
	return page.Total, err
}
