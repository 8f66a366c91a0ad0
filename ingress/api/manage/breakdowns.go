package manage

import (
	"context"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/report"
)

// The forms of breakdown: one dimension, or two at once.
var (
	ofEvents   = httpapi.WordsForm(report.MaxBreakdowns, append(report.Breakdowns, string(report.ByTerm))...)
	ofRequests = httpapi.WordsForm(report.MaxBreakdowns, report.DemandBreakdowns...)
)

// breakdownsOf returns the breakdowns of the query, empty if they are absent.
func breakdownsOf(c *gin.Context) (by, then report.Breakdown) {
	words := append(httpapi.QueryWords(c, "breakdown"), "", "")
	return report.Breakdown(words[0]), report.Breakdown(words[1])
}

// readsPaid reports whether q asks for the advertisers of a publisher, of which only an
// administrator sees more than [report.Disclosed].
func readsPaid(caller *account.User, kind report.Type, q *report.Query) bool {
	return kind == report.Developer && !caller.IsAdmin() && q.Splits(report.ByAdvertiser)
}

// mayBreakDown refuses the breakdowns of a publisher's events that state what one campaign, or an
// advertiser at one place, paid: the price is its bid, which others could outbid by a cent.
func mayBreakDown(caller *account.User, kind report.Type, q *report.Query) error {
	if kind != report.Developer || caller.IsAdmin() {
		return nil
	}
	if q.Splits(report.ByTerm) {
		return errs.New(
			errs.Forbidden, "the words of a publisher's requests are read by administrators and, of their ads, by advertisers",
		).With("field", "breakdown")
	}
	other := q.Then
	if q.Then == report.ByAdvertiser {
		other = q.Breakdown
	}
	if q.Splits(report.ByCampaign) || q.Splits(report.ByAdvertiser) && other != "" && other != report.ByDay {
		return errs.New(
			errs.Forbidden,
			"what a campaign paid is seen by its owner; a publisher may break down by advertiser, alone or with day",
		).With("field", "breakdown")
	}
	return nil
}

// closedDaysOf returns the days of a publisher's query for its advertisers: those that ended. The
// sum of a day that goes on, read twice, states the price of the impressions in between.
func (a *API) closedDaysOf(c *gin.Context) (since, until day.Day, err error) {
	yesterday := day.Of(a.deps.Now()) - 1
	if since, until, err = a.daysTo(c, yesterday); err != nil {
		return 0, 0, err
	}
	if until > yesterday {
		return 0, 0, errs.New(
			errs.InvalidRequest, "until must be %s or before: advertisers are shown from the day after", yesterday,
		).With("field", "until")
	}
	if until-since >= report.MaxPaidDays {
		return 0, 0, errs.New(
			errs.InvalidRequest, "a publisher reads its advertisers of at most %d days", report.MaxPaidDays,
		).With("field", "since")
	}
	return since, until, nil
}

// counted answers q as caller may read it.
func (a *API) counted(
	ctx context.Context, caller *account.User, kind report.Type, q report.Query,
) (result report.Result, err error) {
	switch {
	case q.Splits(report.ByTerm):
		return a.terms(ctx, caller, kind, q)
	case !readsPaid(caller, kind, &q):
		return a.deps.Stats.Stats(ctx, q)
	}
	totals := q
	totals.Breakdown, totals.Then = "", ""
	if result, err = a.deps.Stats.Stats(ctx, totals); err != nil {
		return result, err
	}
	list, err := a.deps.Stats.Paid(
		ctx, report.PaidQuery{DeveloperID: q.DeveloperID, Since: q.Since, Until: q.Until},
	)
	if err != nil {
		return result, err
	}
	result.PaidGroups(&q, report.Disclosed(list, caller.OwnsAdvertiser))
	return result, nil
}

// keys are the values of the breakdowns of a row, with the names of ids.
type keys struct {
	Key      string  `json:"key"`
	Name     *string `json:"name,omitzero"`   // of an id; empty if the caller may see none
	Then     *string `json:"second,omitzero"` // of the second breakdown
	ThenName *string `json:"second_name,omitzero"`
}

// hasNames reports whether the values of a breakdown are ids that have names.
func hasNames(by report.Breakdown) bool {
	return by == report.ByAdvertiser || by == report.ByPublisher || by == report.ByCampaign
}

// cells returns k as cells of a table.
func (k *keys) cells() []string {
	row := []string{k.Key}
	for _, text := range []*string{k.Name, k.Then, k.ThenName} {
		if text != nil {
			row = append(row, *text)
		}
	}
	return row
}

// headOf returns the header of [keys.cells].
func headOf(by, then report.Breakdown) (head []string) {
	for _, b := range []report.Breakdown{by, then} {
		if b != "" {
			head = append(head, string(b))
		}
		if hasNames(b) {
			head = append(head, string(b)+"_name")
		}
	}
	return head
}

// keysOf returns the keys of rows as caller may read them. pairs has the values of by and then.
func (a *API) keysOf(
	ctx context.Context, caller *account.User, by, then report.Breakdown, pairs [][2]string,
) ([]keys, error) {
	var ids []uuid.UUID
	for _, pair := range pairs {
		for i, b := range []report.Breakdown{by, then} {
			if id, err := uuid.Parse(pair[i]); err == nil && hasNames(b) && id != uuid.Nil {
				ids = append(ids, id)
			}
		}
	}
	names, err := a.names(ctx, caller, ids)
	if err != nil {
		return nil, err
	}
	named := func(b report.Breakdown, key string) *string {
		if !hasNames(b) {
			return nil
		}
		name := names[key]
		return &name
	}
	rows := make([]keys, len(pairs))
	for i, pair := range pairs {
		rows[i] = keys{Key: pair[0], Name: named(by, pair[0])}
		if then != "" {
			rows[i].Then, rows[i].ThenName = &pairs[i][1], named(then, pair[1])
		}
	}
	return rows, nil
}

// names returns the names of accounts, publishers and campaigns that caller sees, by id.
func (a *API) names(ctx context.Context, caller *account.User, ids []uuid.UUID) (map[string]string, error) {
	found := map[string]string{}
	if len(ids) == 0 {
		return found, nil
	}
	accounts, err := a.deps.Names.Named(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		name := accounts[i].For(caller)
		found[accounts[i].ID.String()], found[accounts[i].DeveloperID.String()] = name, name
	}
	titles, err := a.deps.Titles.Titles(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range titles {
		found[titles[i].ID.String()] = titles[i].For(caller)
	}
	return found, nil
}
