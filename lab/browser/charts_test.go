package browser_test

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// rests reads a page between two equal answers of the API: what is counted moves in its own time,
// also while a page is read. It gives that answer.
func rests[T any](t *testing.T, api func() T, page func(T)) T {
	t.Helper()
	want := api()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		page(want)
		now := api()
		if reflect.DeepEqual(want, now) {
			return want
		}
		want = now
	}
	require.Fail(t, "what is counted never rests")
	return want
}

// groups are the rows of an answer by their key, without those that count nothing: field names the
// rows, by the name of their key.
func (a answer) groups(field, key string) map[string]answer {
	found := map[string]answer{}
	list, _ := a[field].([]any)
	for _, item := range list {
		row := answer(item.(map[string]any))
		found[fmt.Sprint(row[key])] = row
	}
	return found
}

// rows are the texts of a table's body.
func rows(t *testing.T, tab *browser.Tab, table string) (texts [][]string) {
	t.Helper()
	require.NoError(t, tab.Await(`!!document.querySelector('`+table+` tbody tr')`))
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`[...document.querySelectorAll('`+table+` tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))`,
			&texts,
		)),
	)
	return texts
}

// chosen chooses a value of a list and gives the text that stands for it.
func chosen(t *testing.T, tab *browser.Tab, list, value string) (name string) {
	t.Helper()
	write(t, tab, list, value)
	require.NoError(
		t, tab.Do(chromedp.Evaluate(`document.querySelector('`+list+`').selectedOptions[0].textContent`, &name)),
	)
	return name
}

// The measures of charts, and the decimals that their tables show.
var (
	measured = map[string]int{
		"spend_usd": 6, "impressions": 0, "clicks": 0, "ctr": 2, "ecpm": 6, "conversions": 0, "credits": 0,
	}
	ofEarnings = map[string]int{"impressions": 0, "credits": 0, "clicks": 0, "ctr": 2}
)

// charted reads every measure of the chart of a page from its table: texts by measure, then day or
// hour.
func charted(t *testing.T, tab *browser.Tab, measures map[string]int) map[string]map[time.Time]string {
	t.Helper()
	require.NoError(
		t,
		tab.Do(chromedp.Evaluate(
			`(() => { const b = document.querySelector('.chart button'); if (b.getAttribute('aria-pressed') === 'false') b.click(); })()`, nil,
		)),
	)
	found := map[string]map[time.Time]string{}
	for measure := range measures {
		name := chosen(t, tab, "select[name=measure]", measure)
		require.NoError(
			t, tab.Await(fmt.Sprintf(`document.querySelector('.chart thead .num')?.textContent === %q`, name)),
		)
		found[measure] = map[time.Time]string{}
		for _, r := range rows(t, tab, ".chart") {
			found[measure][instant(t, r[0])] = r[1]
		}
	}
	return found
}

// instant reads a day or an hour as the console writes it.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	text = strings.ReplaceAll(text, "\u202f", " ")
	for _, form := range []string{"Jan 2, 2006", "Jan 2, 2006, 3:04 PM MST"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC()
		}
	}
	require.Failf(t, "no time", "%q", text)
	return time.Time{}
}

// follows says that a chart shows what the API counted, and zero at every other time.
func follows(
	t *testing.T, what string, chart map[string]map[time.Time]string, counted map[string]answer,
	measures map[string]int,
) {
	t.Helper()
	at := map[time.Time]answer{}
	for key, row := range counted {
		form := time.DateOnly
		if strings.Contains(key, "T") {
			form = time.RFC3339
		}
		when, err := time.Parse(form, key)
		require.NoError(t, err)
		at[when.UTC()] = row
	}
	require.NotEmpty(t, at, what)
	for measure, decimals := range measures {
		for when := range at {
			require.Contains(t, chart[measure], when, "%s of %s", what, measure)
		}
		for when, text := range chart[measure] {
			want := new(big.Rat)
			if row, some := at[when]; some {
				want = row.number(t, measure)
			}
			same(t, fmt.Sprintf("%s: %s at %s", what, measure, when), text, decimals, want)
		}
	}
}

// party is who looks, and at what.
type party struct {
	person
	campaign string // of the owner
}

// chartsShowTheAPIs holds the charts of an owner's and a publisher's pages to the API's days and
// hours, and those to what sql counts by the same (nil where the stores are memory).
func (w *world) chartsShowTheAPIs(t *testing.T, owner, publisher party, sql *sources) {
	t.Helper()
	today := time.Now().UTC()
	since := "&since=" + today.AddDate(0, 0, -29).Format(time.DateOnly)
	week := "&since=" + today.AddDate(0, 0, -6).Format(time.DateOnly)
	ofCampaign := "/api/stats?type=campaign&campaign_id=" + owner.campaign
	// All that these two accounts have is one campaign, and one publisher's ads.
	spent := func(by string) map[string][4]int64 { return sql.campaign(owner.campaign, by) }
	earned := func(by string) map[string][4]int64 { return sql.earned(publisher.developer, by) }
	for _, c := range []struct {
		of             party
		page, api, row string
		key            string
		measures       map[string]int
		hourly         bool
		stored         func(by string) map[string][4]int64
	}{
		{
			of: owner, page: "/console/overview", api: "/api/stats?type=overview" + since, row: "daily", key: "date",
			measures: measured, stored: spent,
		},
		{
			of: owner, page: "/console/campaigns/" + owner.campaign, api: ofCampaign + since, row: "daily", key: "date",
			measures: measured, stored: spent,
		},
		{
			of: owner, page: "/console/campaigns/" + owner.campaign, api: ofCampaign + week + "&breakdown=hour",
			row: "breakdown", key: "key", measures: measured, hourly: true, stored: spent,
		},
		{
			of: publisher, page: "/console/publisher",
			api: "/api/stats?type=developer&developer_id=" + publisher.developer + since, row: "daily", key: "date",
			measures: ofEarnings, stored: earned,
		},
	} {
		var chart map[string]map[time.Time]string
		var inStore map[string][4]int64
		want := rests(t, func() map[string]answer { return w.ask(t, c.of.person, c.api).groups(c.row, c.key) },
			func(map[string]answer) {
				require.NoError(t, c.of.tab.Open(w.base+c.page))
				if c.hourly {
					chosen(t, c.of.tab, "select[name=step]", "hour")
					require.NoError(t, c.of.tab.Await(`!!document.querySelector('.chart[data-step=hour]')`))
				}
				chart = charted(t, c.of.tab, c.measures)
				if sql != nil {
					inStore = c.stored(map[bool]string{true: "hour", false: "date"}[c.hourly])
				}
			})
		follows(t, c.page, chart, want, c.measures)
		if sql != nil {
			counted := counts(t, want)
			maps.DeleteFunc(counted, func(_ string, n [4]int64) bool { return n == [4]int64{} })
			require.Equal(t, inStore, counted, "the chart of %s, hourly %v", c.page, c.hourly)
		}
	}
}

// columnsOf are the fields of a table after its first column, and their decimals.
type columnsOf []struct {
	field    string
	decimals int
}

// breakdownsShowTheAPIs holds the tables of a campaign and of a publisher's places to the API's
// groups, and those to what sql counts by the same (nil where the stores are memory).
func (w *world) breakdownsShowTheAPIs(t *testing.T, owner, publisher party, sql *sources) {
	t.Helper()
	since := "&since=" + time.Now().UTC().AddDate(0, 0, -29).Format(time.DateOnly)
	ofCampaign := "/api/stats?type=campaign&campaign_id=" + owner.campaign + since + "&breakdown="
	for _, by := range []string{
		"host_app", "publisher", "surface", "region", "language", "format", "integration_method",
	} {
		var texts [][]string
		var inStore map[string][4]int64
		want := rests(t, func() map[string]answer {
			return w.ask(
				t, owner.person, ofCampaign+by,
			).groups("breakdown", "key")
		}, func(map[string]answer) {
			require.NoError(t, owner.tab.Open(w.base+"/console/campaigns/"+owner.campaign))
			chosen(t, owner.tab, "select[name=by]", by)
			texts = rows(t, owner.tab, "[data-table="+by+"]")
			if sql != nil {
				inStore = sql.campaign(owner.campaign, by)
			}
		})
		matches(t, by, texts, want, columnsOf{{"impressions", 0}, {"clicks", 0}, {"ctr", 2}, {"spend_usd", 6}})
		if sql != nil {
			require.Equal(t, inStore, counts(t, want), "the campaign by %s", by)
		}
	}
	ofPublisher := "?developer_id=" + publisher.developer + since + "&breakdown="
	for _, by := range []string{"surface", "host_app", "integration_method", "format"} {
		var texts [][]string
		var inStore map[string][2]int64
		want := rests(t, func() map[string]answer {
			both := w.ask(t, publisher.person, "/api/stats/requests"+ofPublisher+by).groups("breakdown", "key")
			for key, counted := range w.ask(
				t, publisher.person, "/api/stats"+ofPublisher+by+"&type=developer",
			).groups("breakdown", "key") {
				if both[key] == nil { // what was shown has another format than what was asked for
					both[key] = answer{}
				}
				for field, value := range counted {
					both[key][field] = value
				}
			}
			return both
		}, func(map[string]answer) {
			require.NoError(t, publisher.tab.Open(w.base+"/console/placements"))
			chosen(t, publisher.tab, "select[name=split]", by)
			require.NoError(t, publisher.tab.Await(`!!document.querySelector('[data-table=`+by+`] tbody tr')`))
			require.NoError(
				t,
				publisher.tab.Do(chromedp.Evaluate(
					`[...document.querySelectorAll('[data-table=`+by+
						`] tbody tr')].map((r) => [r.dataset.place, ...[...r.cells].slice(1).map((c) => c.textContent)])`, &texts,
				)),
			)
			if sql != nil {
				inStore = sql.requests(publisher.developer, by)
			}
		})
		matches(
			t, "places by "+by, texts, want,
			columnsOf{
				{"requests", 0}, {"filled", 0}, {"fill_rate", 2}, {"impressions", 0}, {"clicks", 0}, {"credits", 0},
				{"ecpm", 6},
			},
		)
		if sql != nil {
			requests := map[string][2]int64{}
			for key, row := range want {
				if row["requests"] == nil {
					continue
				}
				requests[key] = [2]int64{row.number(t, "requests").Num().Int64(), row.number(t, "filled").Num().Int64()}
			}
			require.Equal(t, inStore, requests, "the requests by %s", by)
		}
	}
}

// matches says that the rows of a table are the API's, each number of them.
func matches(t *testing.T, what string, texts [][]string, want map[string]answer, columns columnsOf) {
	t.Helper()
	require.Len(t, texts, len(want), what)
	for _, r := range texts {
		key := r[0]
		if _, known := want[key]; !known {
			key = "" // the console has words for it
		}
		require.Contains(t, want, key, what)
		for i, c := range columns {
			n := new(big.Rat)
			if want[key][c.field] != nil {
				n = want[key].number(t, c.field)
			} else if r[i+1] == "–" { // nothing to count
				continue
			}
			same(t, what+": "+c.field+" of "+r[0], r[i+1], c.decimals, n)
		}
	}
}

// counts are the impressions, clicks, micro-USD and Credits of groups.
func counts(t *testing.T, groups map[string]answer) map[string][4]int64 {
	t.Helper()
	found := map[string][4]int64{}
	for key, row := range groups {
		micros := new(big.Rat).Mul(row.number(t, "spend_usd"), big.NewRat(1_000_000, 1))
		found[key] = [4]int64{
			row.number(t, "impressions").Num().Int64(), row.number(t, "clicks").Num().Int64(), micros.Num().Int64(),
			row.number(t, "credits").Num().Int64(),
		}
	}
	return found
}
