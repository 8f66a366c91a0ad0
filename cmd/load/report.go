package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"adnet/internal/money"
)

// Report holds the actions of a run and the service's counts of them.
type Report struct {
	Target      string    `json:"target"`
	Seed        uint64    `json:"seed"`
	StartedAt   time.Time `json:"started_at"` // UTC
	Seconds     float64   `json:"seconds"`    // of the whole run, set-up and wait for stats included
	Interrupted bool      `json:"interrupted"`

	Campaigns CampaignReport `json:"campaigns"`

	Requests      int64            `json:"requests"` // ad requests that were answered or failed for good
	Filled        int64            `json:"filled"`
	NoFill        int64            `json:"no_fill"`
	Failed        int64            `json:"failed"`
	FillRate      float64          `json:"fill_rate"` // filled per request, 0 to 1
	NoFillReasons map[string]int64 `json:"no_fill_reasons"`
	// Errors counts every error reply, including retried ones and those of the set-up: by HTTP
	// status, or timeout, network, bad_reply.
	Errors    map[string]int64 `json:"errors"`
	BackedOff int64            `json:"backed_off"` // waits requested by a 429 or 503
	// AdLatency is the latency of answered ad requests; with a rate it counts from the due time.
	AdLatency     Latency `json:"ad_latency"`
	BeaconLatency Latency `json:"beacon_latency"`

	Impressions       Sent  `json:"impressions"`
	Clicks            Sent  `json:"clicks"`
	Conversions       Sent  `json:"conversions"`
	DuplicatesSent    int64 `json:"duplicates_sent"`    // the sum of Repeated
	BeaconsAnswered   int64 `json:"beacons_answered"`   // 200 or 302: the service must account for each
	BeaconsRefused    int64 `json:"beacons_refused"`    // any other status, finally
	BeaconsUnanswered int64 `json:"beacons_unanswered"` // timeout or broken connection: recorded or not

	// Stats holds the service's counts of the run; nil if they were not read.
	Stats *Stats `json:"stats"`
	// Settled reports whether Stats account for every answered beacon; Missing is the number of
	// beacons that they lack.
	Settled bool  `json:"settled"`
	Missing int64 `json:"missing"`

	Notes []string `json:"notes"` // for people
}

// CampaignReport is the outcome of the campaigns.
type CampaignReport struct {
	Imported int `json:"imported"`
	Existing int `json:"existing"`  // from an earlier run on the same accounts
	Refused  int `json:"refused"`   // as invalid
	Active   int `json:"active"`    // afterwards, of all campaigns of the accounts
	InReview int `json:"in_review"` // afterwards
}

// Latency is in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// Sent counts answered beacons of a kind.
type Sent struct {
	Fired    int64 `json:"fired"`    // once for each ad
	Repeated int64 `json:"repeated"` // repeated, to be rejected as a duplicate
}

// Stats holds the counts of GET /api/stats that belong to the run.
type Stats struct {
	Impressions    int64        `json:"impressions"`
	Clicks         int64        `json:"clicks"`
	Conversions    int64        `json:"conversions"`
	Unverified     int64        `json:"conversions_unverified"`
	Closes         int64        `json:"closes"`
	Skips          int64        `json:"skips"`
	VideoCompletes int64        `json:"video_completes"`
	Viewable       int64        `json:"viewable"`
	Billed         int64        `json:"billed"` // events with a charge
	Duplicates     int64        `json:"duplicates"`
	Rejected       int64        `json:"rejected"`
	Sandbox        int64        `json:"sandbox"`
	InvalidTraffic int64        `json:"invalid_traffic"`
	Credits        int64        `json:"credits"`
	Spend          money.Micros `json:"spend_usd"`
	AsOf           time.Time    `json:"as_of"` // UTC; the oldest of several sums
}

// Accounted returns the number of events with a verdict.
func (s Stats) Accounted() int64 {
	return s.Impressions + s.Clicks + s.Conversions + s.Unverified + s.Closes + s.Skips + s.VideoCompletes +
		s.Viewable + s.Duplicates + s.Rejected + s.Sandbox + s.InvalidTraffic
}

// add adds o, or subtracts it with sign -1. Subtraction keeps AsOf.
func (s *Stats) add(o Stats, sign int64) {
	for dst, value := range map[*int64]int64{
		&s.Impressions: o.Impressions, &s.Clicks: o.Clicks, &s.Conversions: o.Conversions, &s.Unverified: o.Unverified,
		&s.Closes: o.Closes, &s.Skips: o.Skips,
		&s.VideoCompletes: o.VideoCompletes, &s.Viewable: o.Viewable, &s.Billed: o.Billed, &s.Duplicates: o.Duplicates,
		&s.Rejected: o.Rejected,
		&s.Sandbox:  o.Sandbox, &s.InvalidTraffic: o.InvalidTraffic, &s.Credits: o.Credits,
	} {
		*dst += sign * value
	}
	s.Spend += money.Micros(sign) * o.Spend
	if sign > 0 && (s.AsOf.IsZero() || o.AsOf.Before(s.AsOf)) {
		s.AsOf = o.AsOf
	}
}

func (r *Report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		raw, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return err
		}
		_, err = w.Write(append(raw, '\n'))
		return err
	}
	var b strings.Builder
	b.WriteString(r.summary() + "\n")
	b.WriteString(r.beacons() + "\n")
	for _, note := range r.remarks() {
		b.WriteString("note: " + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) summary() string {
	t := newTable(2)
	if r.Campaigns != (CampaignReport{}) {
		c := r.Campaigns
		t.AppendRow(table.Row{
			"campaigns",
			fmt.Sprintf(
				"%d imported, %d there before, %d refused; %d active, %d in review", c.Imported, c.Existing, c.Refused,
				c.Active, c.InReview,
			),
		})
	}
	t.AppendRow(table.Row{"requests", r.Requests})
	t.AppendRow(table.Row{"fill rate", fmt.Sprintf("%.1f %% (%d)", 100*r.FillRate, r.Filled)})
	t.AppendRow(table.Row{"no fill", listOf(r.NoFillReasons)})
	t.AppendRow(table.Row{"errors", listOf(r.Errors)})
	t.AppendRow(table.Row{"waits for 429 and 503", r.BackedOff})
	t.AppendRow(table.Row{"ad request", r.AdLatency.String()})
	t.AppendRow(table.Row{"beacon", r.BeaconLatency.String()})
	t.AppendRow(table.Row{"took", fmt.Sprintf("%.1f s", r.Seconds)})
	return t.Render()
}

func (r *Report) beacons() string {
	t := newTable(4)
	t.AppendHeader(table.Row{"", "sent once", "sent again", "counted"})
	s := Stats{}
	if r.Stats != nil {
		s = *r.Stats
	}
	counted := func(value any) any {
		if r.Stats == nil {
			return "–"
		}
		return value
	}
	t.AppendRow(table.Row{"impressions", r.Impressions.Fired, r.Impressions.Repeated, counted(s.Impressions)})
	t.AppendRow(table.Row{"clicks", r.Clicks.Fired, r.Clicks.Repeated, counted(s.Clicks)})
	t.AppendRow(table.Row{"conversions", r.Conversions.Fired, r.Conversions.Repeated, counted(s.Conversions)})
	t.AppendRow(table.Row{"not verified", "", "", counted(s.Unverified)})
	t.AppendSeparator()
	t.AppendRow(table.Row{"duplicates refused", "", r.DuplicatesSent, counted(s.Duplicates)})
	t.AppendRow(table.Row{"rejected", "", "", counted(s.Rejected)})
	t.AppendRow(table.Row{"sandbox", "", "", counted(s.Sandbox)})
	t.AppendRow(table.Row{"invalid traffic", "", "", counted(s.InvalidTraffic)})
	t.AppendRow(table.Row{
		"accounted for", r.BeaconsAnswered - r.DuplicatesSent, r.DuplicatesSent, counted(s.Accounted()),
	})
	t.AppendSeparator()
	t.AppendRow(table.Row{"billed", "", "", counted(s.Billed)})
	t.AppendRow(table.Row{"spend, USD", "", "", counted(s.Spend.String())})
	t.AppendRow(table.Row{"Credits minted", "", "", counted(s.Credits)})
	return t.Render()
}

func (r *Report) remarks() []string {
	var list []string
	if r.Interrupted {
		list = append(list, "the run was interrupted; the report covers the part done")
	}
	if r.Stats != nil && !r.Settled {
		list = append(
			list,
			fmt.Sprintf(
				"stats lack %d of %d answered beacons (as of %s)", r.Missing, r.BeaconsAnswered,
				r.Stats.AsOf.UTC().Format(time.RFC3339Nano),
			),
		)
	}
	if r.BeaconsRefused+r.BeaconsUnanswered > 0 {
		list = append(
			list,
			fmt.Sprintf(
				"%d beacons were refused and %d got no reply, which the service may have counted or not",
				r.BeaconsRefused, r.BeaconsUnanswered,
			),
		)
	}
	return append(list, r.Notes...)
}

func newTable(columns int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	var numbers []table.ColumnConfig
	for n := 2; n <= columns && columns > 2; n++ {
		numbers = append(numbers, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(numbers)
	return t
}

// String returns the quantiles in milliseconds.
func (l Latency) String() string {
	if l.Count == 0 {
		return "–"
	}
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, max %.2f ms", l.P50, l.P99, l.Max)
}

// listOf formats counts like "network 2, no_match 14", or as a dash.
func listOf(counts map[string]int64) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}
