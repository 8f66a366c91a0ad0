package manage

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/report"
)

// refusalsReply is the reply to GET /api/stats/suitability. All its numbers of refusals come from
// [report.Refusals], [report.RefusalSum] and [report.Hundreds], which contain only values that may
// be published.
type refusalsReply struct {
	Since    string           `json:"since"`
	Until    string           `json:"until"`
	Timezone string           `json:"timezone"`
	Requests int64            `json:"requests"` // not refused
	Adults   int64            `json:"age_adult"`
	Refused  []refusedReply   `json:"refused"`
	Daily    []refusalDay     `json:"daily"` // every day of the range
	Subjects []subjectCostsOf `json:"subjects"`
}

// refusedReply is one tier over the whole range.
type refusedReply struct {
	Tier   string `json:"tier"`
	Reason string `json:"reason"`
	report.RefusalSum
	Rate float64 `json:"rate"` // of the published requests, 0 to 1
}

type refusalDay struct {
	Date      string          `json:"date"`
	Requests  int64           `json:"requests"`
	Adults    int64           `json:"age_adult"`
	Never     report.Refusals `json:"never"`
	Sensitive report.Refusals `json:"sensitive"`
}

// subjectCostsOf counts the requests of a publisher that are refused for a sensitive subject.
type subjectCostsOf struct {
	Subject string          `json:"id"`
	Week    report.Hundreds `json:"last_7_days"`
	Month   report.Hundreds `json:"last_30_days"`
}

// refusals serves GET /api/stats/suitability: the number of a publisher's requests that were
// refused because of their conversation.
func (a *API) refusals(c *gin.Context, caller account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	publisher, err := developerOf(c, caller)
	if err != nil {
		return answer, err
	}
	since, until, err := a.daysOf(c)
	if err != nil {
		return answer, err
	}
	found, err := a.deps.Stats.Refusals(
		c.Request.Context(), report.RefusalQuery{DeveloperID: publisher, Since: since, Until: until},
	)
	if err != nil {
		return answer, err
	}
	today := day.Of(a.deps.Now())
	days := everyDay(publisher, found, since, min(until, today))
	reply := refusalsReply{
		Since: since.String(), Until: until.String(), Timezone: "UTC", Daily: make([]refusalDay, len(days)),
	}
	reply.Requests, reply.Adults, reply.Refused = sumOf(days)
	for i, d := range days {
		reply.Daily[i] = refusalDay{d.Day.String(), d.Requests, d.Adults, d.Never, d.Sensitive}
	}
	if httpapi.WantsCSV(c) {
		return httpapi.CSVFile("adnet-suitability-"+reply.Since+"-"+reply.Until, reply.table()), nil
	}
	costs, err := a.deps.Stats.Costs(c.Request.Context(), publisher, today)
	if err != nil {
		return answer, err
	}
	for _, name := range subject.Names(subject.Sensitive) {
		id, _ := subject.Parse(name)
		reply.Subjects = append(reply.Subjects, subjectCostsOf{name, costs[id].Week, costs[id].Month})
	}
	return httpapi.With(http.StatusOK, reply), nil
}

// table returns the days as rows with a header.
func (r *refusalsReply) table() [][]string {
	rows := [][]string{{"day", "requests", "age_adult", "never", "sensitive"}}
	for _, d := range r.Daily {
		rows = append(
			rows,
			[]string{
				d.Date, strconv.FormatInt(d.Requests, 10), strconv.FormatInt(d.Adults, 10), d.Never.String(),
				d.Sensitive.String(),
			},
		)
	}
	return rows
}

// everyDay returns all days of a publisher from since to until. Omitting days without requests
// would reveal the days on which every request was refused.
func everyDay(publisher uuid.UUID, found []report.RefusalDay, since, until day.Day) []report.RefusalDay {
	days := make([]report.RefusalDay, 0, max(0, until-since+1))
	for date := since; date <= until; date++ {
		d := report.RefusalDay{DeveloperID: publisher, Day: date}
		if at := slices.IndexFunc(found, func(f report.RefusalDay) bool { return f.Day == date }); at >= 0 {
			d = found[at]
		}
		days = append(days, d)
	}
	return days
}

// sumOf returns the sums of some days of one publisher.
func sumOf(days []report.RefusalDay) (requests, adults int64, refused []refusedReply) {
	never := refusedReply{Tier: subject.Never.String(), Reason: report.Unsuitable}
	sensitive := refusedReply{Tier: subject.Sensitive.String(), Reason: report.Sensitive}
	for _, d := range days {
		requests, adults = requests+d.Requests, adults+d.Adults
		never.Add(d.Never)
		sensitive.Add(d.Sensitive)
	}
	total := requests + never.RefusalSum.Requests + sensitive.RefusalSum.Requests
	never.Rate, sensitive.Rate = fillRate(never.RefusalSum.Requests, total), fillRate(
		sensitive.RefusalSum.Requests, total,
	)
	return requests, adults, []refusedReply{never, sensitive}
}

// publisherRefusals is a publisher in the reply of GET /api/admin/suitability.
type publisherRefusals struct {
	Publisher uuid.UUID      `json:"developer_id"`
	Requests  int64          `json:"requests"`
	Adults    int64          `json:"age_adult"`
	Refused   []refusedReply `json:"refused"`
	Jumped    bool           `json:"jumped"` // the never rate of the last day jumped, by the published counts
}

// networkRefusals serves GET /api/admin/suitability: the rates of every publisher, without a
// network total, which would reveal the counts of a single publisher.
func (a *API) networkRefusals(c *gin.Context, _ account.User, _ httpapi.None) (answer httpapi.Reply, err error) {
	since, until, err := a.networkDays(c)
	if err != nil {
		return answer, err
	}
	found, err := a.deps.Stats.Refusals(c.Request.Context(), report.RefusalQuery{All: true, Since: since, Until: until})
	if err != nil {
		return answer, err
	}
	until = min(until, day.Of(a.deps.Now()))
	publishers := publishersOf(found, since, until)
	reply := httpapi.Object{
		"since": since.String(), "until": until.String(), "timezone": "UTC", "publishers": publishers,
	}
	return httpapi.Table("adnet-suitability-"+since.String()+"-"+until.String(), reply, func() [][]string {
		return tableOf(publishers)
	}), nil
}

// publishersOf sums the days of each publisher, jumps first, then by rate. It omits publishers
// without published counts, since their presence would reveal a refusal.
func publishersOf(found []report.RefusalDay, since, until day.Day) []publisherRefusals {
	list := []publisherRefusals{}
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].DeveloperID == found[0].DeveloperID {
			n++
		}
		days := everyDay(found[0].DeveloperID, found[:n], since, until)
		p := publisherRefusals{Publisher: found[0].DeveloperID, Jumped: report.JumpedDay(days)}
		p.Requests, p.Adults, p.Refused = sumOf(days)
		if p.Requests+p.Refused[0].RefusalSum.Requests+p.Refused[1].RefusalSum.Requests > 0 {
			list = append(list, p)
		}
		found = found[n:]
	}
	slices.SortStableFunc(list, func(a, b publisherRefusals) int {
		switch {
		case a.Jumped && !b.Jumped:
			return -1
		case b.Jumped && !a.Jumped:
			return 1
		}
		return cmp.Or(
			cmp.Compare(b.Refused[0].Rate, a.Refused[0].Rate), cmp.Compare(b.Refused[1].Rate, a.Refused[1].Rate),
			bytes.Compare(a.Publisher[:], b.Publisher[:]),
		)
	})
	return list
}

func tableOf(publishers []publisherRefusals) [][]string {
	rows := [][]string{{
		"developer_id", "requests", "age_adult", "never", "never_days_below_10", "sensitive", "sensitive_days_below_10",
		"jumped",
	}}
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, p := range publishers {
		row := []string{p.Publisher.String(), whole(p.Requests), whole(p.Adults)}
		for _, tier := range p.Refused {
			row = append(row, whole(tier.RefusalSum.Requests), strconv.Itoa(tier.Hidden))
		}
		rows = append(rows, append(row, strconv.FormatBool(p.Jumped)))
	}
	return rows
}

// subjects serves GET /api/suitability/subjects: the closed list, and the restricted trades.
func (a *API) subjects(c *gin.Context, _ httpapi.None) (httpapi.Object, error) {
	return httpapi.Object{"subjects": subject.In(c.Query("language")), "trades": subject.Trades}, nil
}
