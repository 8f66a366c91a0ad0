package report

import (
	"slices"
	"strings"
	"time"

	"adnet/internal/errs"
)

// Breakdown is a dimension by which a result is split.
type Breakdown string

// The breakdowns; a closed list.
const (
	ByAdvertiser        Breakdown = "advertiser" // its user id
	ByCampaign          Breakdown = "campaign"
	ByFormat            Breakdown = "format"
	ByHostApp           Breakdown = "host_app"
	ByIntegrationMethod Breakdown = "integration_method"
	ByDay               Breakdown = "day"
	ByHour              Breakdown = "hour"      // UTC hours, in order; at most [MaxHourly] days
	ByPublisher         Breakdown = "publisher" // its developer id
	BySurface           Breakdown = "surface"
	ByRegion            Breakdown = "region"
	ByLanguage          Breakdown = "language"
	ByReason            Breakdown = "reason" // of requests: why there was no ad; empty for an ad
)

// Breakdowns lists the breakdowns of events.
var Breakdowns = []string{
	string(ByCampaign), string(ByAdvertiser), string(ByPublisher), string(ByDay), string(ByHour), string(ByFormat),
	string(ByHostApp), string(ByIntegrationMethod), string(BySurface), string(ByRegion), string(ByLanguage),
}

// DemandBreakdowns lists the breakdowns of requests.
var DemandBreakdowns = []string{
	string(BySurface), string(ByHostApp), string(ByIntegrationMethod), string(ByFormat), string(ByPublisher),
	string(ByDay), string(ByReason),
}

// MaxBreakdowns is the maximum number of breakdowns at once.
const MaxBreakdowns = 2

// checkBreakdowns returns nil if by and then are in the list, and differ. Either may be empty, then
// also if by is not.
func checkBreakdowns(by, then Breakdown, list []string) error {
	for _, b := range []Breakdown{by, then} {
		if b != "" && !slices.Contains(list, string(b)) {
			return errs.New(
				errs.InvalidRequest, "breakdown must be one or two of %s", strings.Join(list, ", "),
			).With("field", "breakdown")
		}
	}
	if then != "" && (by == "" || by == then) {
		return errs.New(errs.InvalidRequest, "two breakdowns must differ").With("field", "breakdown")
	}
	return nil
}

// The keys of groups that stand for several texts, and the maximum number of groups beside
// OthersKey. Breakdowns by day and by hour alone are bounded by their days.
const (
	OtherKey  = "other"  // texts that are not recorded: unregistered, or beyond a publisher's number a day
	OthersKey = "others" // the groups beyond MaxGroups, as one; of two breakdowns in both keys
	MaxGroups = 1000
)

// Splits reports whether the answer to q is split by b.
func (q *Query) Splits(b Breakdown) bool { return b != "" && (q.Breakdown == b || q.Then == b) }

// Limited reports whether the groups of q are limited to MaxGroups.
func (q *Query) Limited() bool {
	return !q.AllGroups && q.Breakdown != "" && (q.Then != "" || q.Breakdown != ByDay && q.Breakdown != ByHour)
}

// Limit keeps the first MaxGroups sorted groups of r, the result of q, and adds the other counts of
// r as one last group, OthersKey, unless there are none. So the groups add up to the counts, which
// must be of the same events.
func (r *Result) Limit(q *Query) {
	if !q.Limited() || len(r.Groups) < MaxGroups {
		return
	}
	r.Groups = r.Groups[:MaxGroups:MaxGroups]
	r.Groups = append(r.Groups, r.others(q)...)
}

// others returns the counts of r that none of its groups has as one group, or nothing.
func (r *Result) others(q *Query) []Group {
	rest := Group{Key: OthersKey, Counts: r.Counts}
	if q.Then != "" {
		rest.Then = OthersKey
	}
	for i := range r.Groups {
		rest.sub(&r.Groups[i].Counts)
	}
	if rest.Counts == (Counts{}) {
		return nil
	}
	return []Group{rest}
}

// MaxHourly is the maximum number of days of a query by hour.
const MaxHourly = 31

// Hour returns the key of the hour of at in a breakdown by hour.
func Hour(at time.Time) string { return at.UTC().Truncate(time.Hour).Format(time.RFC3339) }

// Check returns nil if the store answers q. Errors: errs.InvalidRequest with the field.
func (q *Query) Check() error {
	if err := checkBreakdowns(q.Breakdown, q.Then, Breakdowns); err != nil {
		return err
	}
	ids := 0
	for _, f := range q.Families {
		ids += len(f.Advertisers) + len(f.Developers)
	}
	if ids > MaxRelatives {
		return errs.New(errs.InvalidRequest, "families must name at most %d accounts", MaxRelatives).With("field", "families")
	}
	if q.Splits(ByHour) && q.Until-q.Since >= MaxHourly {
		return errs.New(
			errs.InvalidRequest, "a breakdown by hour covers at most %d days", MaxHourly,
		).With("field", "since")
	}
	return nil
}

// Sort sorts the groups of q: hours alone by time, others by spend, then by their keys.
func (q *Query) Sort(groups []Group) {
	if q.Breakdown == ByHour && q.Then == "" {
		slices.SortFunc(groups, func(x, y Group) int { return strings.Compare(x.Key, y.Key) })
		return
	}
	slices.SortFunc(groups, BySpend)
}
