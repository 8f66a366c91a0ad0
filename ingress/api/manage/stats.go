package manage

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// A query without since covers the last 30 days. No query may cover more than three years.
const (
	defaultDays = 30
	maxDays     = 3 * 366
)

// ofDays are the parameters of a table of the days since and until; more are added.
func ofDays(more httpapi.Params) httpapi.Params {
	params := httpapi.Params{
		"since": httpapi.DayForm, "until": httpapi.DayForm, "format": httpapi.WordForm("json", "csv"),
		"bom": httpapi.SwitchForm,
	}
	maps.Copy(params, more)
	return params
}

// ofStats is the policy of the stats of a type. Each type has its own parameters: the id of another
// type, if it were ignored, would get the numbers of something else.
func ofStats(more httpapi.Params) httpapi.Policy {
	params := ofDays(more)
	params["breakdown"] = ofEvents
	return httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true, Params: params,
	}
}

func (a *API) mountStats(s *httpapi.Server) {
	overview := httpapi.Action{Do: httpapi.Do(a.stats), Policy: ofStats(nil)}
	s.HandleActions(http.MethodGet, "/api/stats", httpapi.Actions{Param: "type", Of: map[string]httpapi.Action{
		"": overview, "overview": overview,
		"campaign": {
			Do: httpapi.Do(a.stats), Policy: ofStats(httpapi.Params{"campaign_id": httpapi.IDForm}),
		},
		"developer": {
			Do: httpapi.Do(a.stats), Policy: ofStats(httpapi.Params{"developer_id": httpapi.IDForm, "key": httpapi.IDForm}),
		},
	}}, overview.Policy)
	s.HandleActions(http.MethodPost, "/api/stats", httpapi.Actions{Param: "type", Of: map[string]httpapi.Action{
		"aggregate": {Do: httpapi.Do(a.aggregate)},
	}}, with(ofReviewer(changes), httpapi.Params{"date": httpapi.DayForm}))
}

func (a *API) stats(c *gin.Context, caller account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	q, kind, goal, err := a.statsQuery(c, caller)
	if err != nil {
		return answer, err
	}
	result, err := a.counted(c.Request.Context(), &caller, kind, q)
	if err != nil {
		return answer, err
	}
	if err := a.addUnread(c.Request.Context(), kind, q, &result); err != nil {
		return answer, err
	}
	reply := statsReplyOf(kind, q, result, a.deps.Now())
	if err := a.addGroups(c.Request.Context(), &caller, &reply, q, result.Groups); err != nil {
		return answer, err
	}
	reply.Pursuit = goal
	if kind == report.Developer {
		reply.earned = earnedOf(result.Counts, a.deps.CreditValue)
	}
	if kind == report.Campaign && a.deps.Unproven != nil {
		if reply.Unproven, err = a.deps.Unproven.Unproven(
			c.Request.Context(), q.CampaignID, q.Since, q.Until,
		); err != nil {
			return answer, err
		}
	}
	return httpapi.Table(fileOf(kind, &reply), &reply, reply.table), nil
}

// fileOf returns the name of the table of a reply, by which saved files differ.
func fileOf(kind report.Type, r *statsReply) string {
	name := "adnet-" + string(kind)
	if kind == report.Overview {
		name = "adnet-stats"
	}
	return tableName(name, r.Since, r.Until, r.BreakdownBy, r.ThenBy)
}

// tableName returns the name of a table of the days since and until by its breakdowns.
func tableName(name, since, until string, by ...report.Breakdown) string {
	name += "-" + since + "-" + until
	for _, b := range by {
		if b != "" {
			name += "-" + string(b)
		}
	}
	return name
}

// addGroups adds the groups of q's breakdowns, with the names that caller may see.
func (a *API) addGroups(
	ctx context.Context, caller *account.User, r *statsReply, q report.Query, groups []report.Group,
) error {
	if q.Breakdown == "" {
		return nil
	}
	pairs := make([][2]string, len(groups))
	for i := range groups {
		pairs[i] = [2]string{groups[i].Key, groups[i].Then}
	}
	named, err := a.keysOf(ctx, caller, q.Breakdown, q.Then, pairs)
	if err != nil {
		return err
	}
	r.Breakdown = make([]groupReply, len(groups))
	for i := range groups {
		r.Breakdown[i] = groupReply{named[i], figuresOf(groups[i].Counts)}
	}
	return nil
}

// table returns the breakdown as rows with a header, or the days without a breakdown.
func (r *statsReply) table() [][]string {
	header := headOf(r.BreakdownBy, r.ThenBy)
	if r.BreakdownBy == "" {
		header = []string{"day"}
	}
	for _, f := range figuresOf(report.Counts{}) {
		header = append(header, f.name)
	}
	rows := [][]string{header}
	if r.BreakdownBy == "" {
		for _, d := range r.Daily {
			rows = append(rows, d.figures.cells([]string{d.date}))
		}
	}
	for i := range r.Breakdown {
		rows = append(rows, r.Breakdown[i].figures.cells(r.Breakdown[i].cells()))
	}
	return rows
}

// cells appends the numbers to the cells of a row.
func (f figures) cells(row []string) []string {
	for _, n := range f {
		row = append(row, n.number)
	}
	return row
}

// UnprovenReader counts unverified events: they name a campaign, but anyone can send them.
type UnprovenReader interface {
	// Unproven sums the counts of a campaign by reason, from since to until, both included.
	Unproven(ctx context.Context, campaign uuid.UUID, since, until day.Day) (map[string]int64, error)
	// UnreadClicks sums conversions whose click id cannot be read by day: of a campaign, of all
	// campaigns of an advertiser, or of all for zero ids.
	UnreadClicks(ctx context.Context, advertiser, campaign uuid.UUID, since, until day.Day) (map[day.Day]int64, error)
}

// statsQuery reads the query. For type=campaign it also returns the progress of the campaign's
// goal.
func (a *API) statsQuery(
	c *gin.Context, caller account.User,
) (q report.Query, kind report.Type, goal *campaign.Pursuit, err error) {
	kind = report.Type(c.DefaultQuery("type", string(report.Overview)))
	if _, byKey := httpapi.KeyOf(c); byKey && kind != report.Developer {
		return q, kind, nil, httpapi.ErrNoLogin // a key has the stats of its publisher only
	}
	switch kind {
	case report.Overview:
		q.AdvertiserID = overviewOf(caller)
	case report.Campaign:
		q.CampaignID, goal, err = a.campaignOf(c, caller)
	case report.Developer:
		q.DeveloperID, err = developerOf(c, caller)
	}
	if err != nil {
		return q, kind, nil, err
	}
	q.Breakdown, q.Then = breakdownsOf(c)
	if err = mayBreakDown(&caller, kind, &q); err != nil {
		return q, kind, nil, err
	}
	days := a.daysOf
	if readsPaid(&caller, kind, &q) {
		days = a.closedDaysOf
	}
	if q.Since, q.Until, err = days(c); err != nil {
		return q, kind, nil, err
	}
	if q.Splits(report.ByTerm) {
		return q, kind, goal, report.CheckTerms(&q)
	}
	return q, kind, goal, q.Check()
}

// overviewOf returns the caller as advertiser, or uuid.Nil (all advertisers) for an administrator.
func overviewOf(caller account.User) uuid.UUID {
	if caller.IsAdmin() {
		return uuid.Nil
	}
	return caller.ID
}

func (a *API) campaignOf(c *gin.Context, caller account.User) (id uuid.UUID, goal *campaign.Pursuit, err error) {
	if id, err = httpapi.ParseID("campaign_id", c.Query("campaign_id")); err != nil {
		return uuid.Nil, nil, err
	}
	// The owner check: reading another account's campaign fails.
	of, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	return id, &of.Pursuit, err
}

// developerOf returns the publisher in the query, as developer_id or key. The default is the caller's
// own.
func developerOf(c *gin.Context, caller account.User) (uuid.UUID, error) {
	field := "developer_id"
	if c.Query(field) == "" {
		field = "key"
	}
	if c.Query(field) == "" {
		return caller.DeveloperID, nil
	}
	id := httpapi.QueryID(c, field)
	if !caller.Publishes(id) && !caller.IsAdmin() {
		return uuid.Nil, errs.New(errs.Forbidden, "these stats belong to another publisher")
	}
	return id, nil
}

func (a *API) daysOf(c *gin.Context) (since, until day.Day, err error) {
	return a.daysTo(c, day.Of(a.deps.Now()))
}

// daysTo returns the days of the query, which end by default on last.
func (*API) daysTo(c *gin.Context, last day.Day) (since, until day.Day, err error) {
	if until, err = dayOf("until", c.Query("until"), last); err != nil {
		return 0, 0, err
	}
	if since, err = dayOf("since", c.Query("since"), min(until, last)-defaultDays+1); err != nil {
		return 0, 0, err
	}
	if since > until || until-since > maxDays {
		return 0, 0, errs.New(
			errs.InvalidRequest, "since must not be after until, and not more than %d days before it", maxDays,
		)
	}
	return since, until, nil
}

func dayOf(field, text string, fallback day.Day) (day.Day, error) {
	if text == "" {
		return fallback, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		return 0, errs.New(errs.InvalidRequest, "%s must be a date like 2026-01-31 (UTC)", field).With("field", field)
	}
	return day.Of(t), nil
}

// figure is a number of a reply, in the notation of JSON.
type figure struct{ name, number string }

// figures are report.Counts in a reply.
type figures []figure

// firstTypes are the event types whose counts begin a reply; the others follow by their number.
var firstTypes = []event.Type{event.Type_IMPRESSION, event.Type_CLICK, event.Type_CONVERSION}

func figuresOf(n report.Counts) (f figures) {
	f = make(figures, 0, event.Types+11)
	for _, t := range firstTypes {
		f.add(t.Kind().Column, n.Events[t])
	}
	f.add("conversions_unverified", n.Unverified) // never charged; see [API.addUnread]
	for t := range event.Type(event.Types) {
		if column := t.Kind().Column; column != "" && !slices.Contains(firstTypes, t) {
			f.add(column, n.Events[t])
		}
	}
	var ecpm money.Micros // of 1,000 impressions
	seen := n.Impressions()
	if seen > 0 {
		ecpm = n.Spend.MulDiv(1000, seen)
	}
	f = append(
		f, figure{"viewability", ratio(n.Events[event.Type_VIEWABLE], seen)}, figure{"spend_usd", n.Spend.String()},
		figure{"ctr", ratio(n.Clicks(), seen)}, figure{"ecpm", ecpm.String()},
	)
	f.add("credits", int64(n.Credits))
	f.add("billed", n.Billed)
	f = append(f, figure{"conversion_value_usd", n.ConversionUSD.String()})
	f.add("duplicates", n.Duplicates)
	f.add("rejected", n.Rejected)
	f.add("sandbox", n.Sandbox)
	f.add("invalid_traffic", n.Invalid)
	return f
}

func (f *figures) add(name string, n int64) { *f = append(*f, figure{name, strconv.FormatInt(n, 10)}) }

// ratio returns n per impression, 0 when there are none.
func ratio(n, impressions int64) string {
	if impressions == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(n)/float64(impressions), 'f', -1, 64)
}

// appendTo appends the members of an object, each after a comma.
func (f figures) appendTo(b []byte) []byte {
	for _, n := range f {
		b = append(append(append(append(b, `,"`...), n.name...), `":`...), n.number...)
	}
	return b
}

// dayReply holds the figures of a day.
type dayReply struct {
	date    string
	figures figures
}

// MarshalJSON returns an object of the day and the figures.
func (r dayReply) MarshalJSON() ([]byte, error) {
	b := append([]byte(`{"date":"`), r.date...)
	return append(r.figures.appendTo(append(b, '"')), '}'), nil
}

// groupReply holds the figures of a group.
type groupReply struct {
	keys
	figures figures
}

// MarshalJSON returns an object of the keys and the figures.
func (r groupReply) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(r.keys)
	if err != nil {
		return nil, err
	}
	return append(r.figures.appendTo(b[:len(b)-1]), '}'), nil
}

// trafficReply counts events by the reason they were not billed.
type trafficReply struct {
	Reason      string `json:"reason,omitempty"`
	Impressions int64  `json:"impressions"`
	Clicks      int64  `json:"clicks"`
	Other       int64  `json:"other"`
}

func (r *statsReply) addTraffic(list []report.Traffic) {
	for _, t := range list {
		switch reply := trafficReply(t); t.Reason {
		case report.TrafficHouse:
			reply.Reason = ""
			r.House = reply
		case report.TrafficSelfServed:
			reply.Reason = ""
			r.SelfServed = reply
		case report.TrafficCapped:
			r.MintCapped = t.Impressions
		case report.TrafficHeld:
			r.MintHeld = t.Impressions
		default:
			r.InvalidImpressions += t.Impressions
			r.InvalidClicks += t.Clicks
			r.InvalidByReason = append(r.InvalidByReason, reply)
		}
	}
}

// statsReply is one object: the members of the query, the figures, and those of the answer.
type statsReply struct {
	statsQuery
	figures figures
	statsAnswer
}

type statsQuery struct {
	Type     report.Type `json:"type"`
	Since    string      `json:"since"` // UTC day, included
	Until    string      `json:"until"` // UTC day, included
	Timezone string      `json:"timezone"`
}

type statsAnswer struct {
	// Events that were not paid for, and ones that earned nothing or not yet, over the whole range.
	InvalidImpressions int64          `json:"invalid_impressions"`
	InvalidClicks      int64          `json:"invalid_clicks"`
	InvalidByReason    []trafficReply `json:"invalid_by_reason"`
	House              trafficReply   `json:"house"` // not part of any other number
	SelfServed         trafficReply   `json:"self_served"`
	MintCapped         int64          `json:"mint_capped"` // impressions
	MintHeld           int64          `json:"mint_held"`   // impressions
	// Pursuit is set for type=campaign.
	*campaign.Pursuit
	// Unproven counts unverified events by reason, for type=campaign. They are not stored, and only
	// conversions whose click id cannot be read are part of another number, conversions_unverified.
	Unproven map[string]int64 `json:"unproven,omitempty"`
	// earned is set for type=developer.
	*earned

	Daily       []dayReply       `json:"daily"`
	BreakdownBy report.Breakdown `json:"breakdown_by,omitempty"`
	ThenBy      report.Breakdown `json:"second_by,omitempty"`
	Breakdown   []groupReply     `json:"breakdown,omitzero"`
	AsOf        time.Time        `json:"as_of"`
}

// earned is the worth of the Credits that a publisher earned.
type earned struct {
	Value money.Micros `json:"credit_value_usd"` // of one Credit
	ECPM  money.Micros `json:"publisher_ecpm"`   // of the Credits for 1,000 impressions
}

// earnedOf returns the worth of the Credits in n. Advertisers pay another amount for the same
// impressions, which is the eCPM of the figures.
func earnedOf(n report.Counts, value money.Micros) *earned {
	e := &earned{Value: value}
	if seen := n.Impressions(); seen > 0 {
		e.ECPM = value.MulDiv(1000*int64(n.Credits), seen)
	}
	return e
}

// MarshalJSON returns the three parts as one object.
func (r *statsReply) MarshalJSON() ([]byte, error) {
	query, err := json.Marshal(r.statsQuery)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(r.statsAnswer, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	b := r.figures.appendTo(query[:len(query)-1])
	return append(append(b, ','), answer[1:]...), nil
}

// asOf returns the time up to which events are counted. Without any event it is now.
func asOf(counted, now time.Time) time.Time {
	if counted.IsZero() {
		return now.UTC()
	}
	return counted.UTC()
}

func statsReplyOf(kind report.Type, q report.Query, r report.Result, now time.Time) statsReply {
	reply := statsReply{
		statsQuery: statsQuery{
			Type: kind, Since: q.Since.String(), Until: q.Until.String(), Timezone: "UTC",
		},
		figures: figuresOf(r.Counts),
		statsAnswer: statsAnswer{
			Daily: make([]dayReply, len(r.Daily)), BreakdownBy: q.Breakdown, ThenBy: q.Then, AsOf: asOf(r.AsOf, now),
		},
	}
	reply.InvalidByReason = []trafficReply{}
	reply.addTraffic(r.Traffic)
	for i, date := range r.Daily {
		reply.Daily[i] = dayReply{date.Key, figuresOf(date.Counts)}
	}
	return reply
}

// aggregate rolls up a day, by default yesterday (UTC). It serves schedulers and backfills.
// Administrators only.
func (a *API) aggregate(c *gin.Context, _ account.User, _ httpapi.None) (httpapi.Object, error) {
	today := day.Of(a.deps.Now())
	date, err := dayOf("date", c.Query("date"), today-1)
	if err != nil {
		return nil, err
	}
	if date > today {
		return nil, errs.New(errs.InvalidRequest, "date must not be in the future").With("field", "date")
	}
	// The roll-up of a large day continues when an impatient client leaves: it is idempotent, but
	// an aborted one is wasted work.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), 5*time.Minute)
	defer cancel()
	rows, err := a.deps.Rollup.Aggregate(ctx, date)
	if err != nil {
		return nil, err
	}
	if err := a.deps.Audit.RecordAudit(ctx, auditlog.OfRollup(date, rows)); err != nil {
		return nil, err
	}
	return httpapi.Object{"aggregated": true, "rows": rows, "date": date.String()}, nil
}
