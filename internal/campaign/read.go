package campaign

import (
	"errors"
	"strings"
	"time"

	"adnet/internal/jsonscan"
	"adnet/internal/money"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// Read fills c with the campaign that [json.Marshal] made text of. Its strings share the text's memory. A text of
// another build with other fields is read, too, only slower.
func Read(text string, c *Campaign) error {
	if c.readOwn(text) {
		return nil
	}
	*c = Campaign{}
	return json.Unmarshal([]byte(text), c)
}

// readOwn reads what this build has written, which is every campaign of a loading node (benchmark row start); false for
// all else. The fields are in the order of [Campaign].
func (c *Campaign) readOwn(text string) bool {
	in := jsonscan.Read(text)
	f := fields{in: &in, of: in.Members()}
	c.ID = f.id("id")
	c.AdvertiserID = f.id("advertiser_id")
	c.Name = f.text("name")
	c.Status = Status(f.text("status"))
	c.Format = Format(f.text("format"))
	c.Headline = f.text("headline")
	c.Subtext = f.text("subtext")
	c.MediaURL = f.text("media_url")
	c.PosterURL = f.text("poster_url")
	c.LogoURL = f.text("logo_url")
	c.CTALabel = f.text("cta_label")
	c.CTAURL = f.text("cta_url")
	c.SkippableAfterSec = int(f.whole("skippable_after_sec"))
	c.BillingModel = BillingModel(f.text("billing_model"))
	c.BidAmount = f.amount("bid_amount")
	c.DailyBudget = f.amount("daily_budget")
	c.TotalBudget = f.amount("total_budget")
	c.TargetCPA = f.amount("target_cpa")
	c.TargetROAS = f.amountOrNull("target_roas")
	c.Goal = Goal(f.text("optimization_goal"))
	c.CreditFunded = f.truth("credit_funded")
	c.Pacing = Pacing(f.text("pacing"))
	c.FrequencyCap = int(f.whole("frequency_cap"))
	c.IntentTokens = f.texts("target_intent_tokens")
	c.Keywords = f.texts("target_keywords")
	c.ActiveTools = f.texts("target_active_tools")
	c.HostApps = f.texts("target_host_apps")
	c.Surfaces = f.texts("target_surfaces")
	c.IntegrationMethods = f.texts("target_integration_methods")
	c.Regions = f.texts("target_regions")
	c.Languages = f.texts("target_languages")
	c.Deals = f.texts("deal_ids")
	c.PolicyViolations = f.violations("policy_violations")
	c.Review = f.review("review")
	c.ConfigVersion = f.whole("config_version")
	c.CreatedAt = f.time("created_at")
	c.UpdatedAt = f.time("updated_at")
	c.SpentToday = f.amount("spent_today")
	c.SpentTotal = f.amount("spent_total")
	f.of.End()
	return in.Done()
}

// fields reads the fields of one object one after the other. It declines when another one comes next.
type fields struct {
	in *jsonscan.Reader
	of jsonscan.Members
}

func (f *fields) next(name string) {
	if !f.of.Next(name) {
		f.in.Decline()
	}
}

// read reads a field whose text parse understands.
func read[T any](f *fields, text string, parse func(string) (T, error)) T {
	value, err := parse(text)
	if err != nil {
		f.in.Decline()
	}
	return value
}

func (f *fields) text(name string) string {
	f.next(name)
	return f.in.Text()
}

func (f *fields) texts(name string) []string {
	f.next(name)
	return f.in.Texts()
}

func (f *fields) truth(name string) bool {
	f.next(name)
	return f.in.Bool()
}

func (f *fields) id(name string) uuid.UUID { return read(f, f.text(name), uuid.Parse) }

func (f *fields) time(name string) time.Time { return read(f, f.text(name), parseTime) }

var errOtherTime = errors.New("not a time as this build writes it")

// parseTime takes UTC only, and none of what [time.Parse] takes beyond RFC 3339: an hour of one digit, a decimal comma.
func parseTime(s string) (time.Time, error) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[len("2006-01-02T15")] != ':' || s[len(s)-1] != 'Z' || strings.Contains(s, ",") {
		return time.Time{}, errOtherTime
	}
	return time.Parse(time.RFC3339, s)
}

func (f *fields) whole(name string) int64 {
	f.next(name)
	return f.in.Whole()
}

func (f *fields) amount(name string) money.Micros {
	f.next(name)
	return read(f, f.in.Number(), money.Parse)
}

func (f *fields) amountOrNull(name string) *money.Micros {
	f.next(name)
	if f.in.Peek() == 'n' {
		f.in.Skip()
		return nil
	}
	amount := read(f, f.in.Number(), money.Parse)
	return &amount
}

func (f *fields) violations(name string) []Violation {
	f.next(name)
	list := []Violation{}
	f.in.Each(func() {
		v := fields{in: f.in, of: f.in.Members()}
		list = append(list, Violation{Rule: v.text("rule"), Field: v.text("field"), Message: v.text("message")})
		v.of.End()
	})
	return list
}

func (f *fields) review(name string) *Review {
	if !f.of.Next(name) {
		return nil
	}
	r := fields{in: f.in, of: f.in.Members()}
	review := Review{Decision: r.text("decision")}
	if r.of.Next("notes") {
		review.Notes = r.in.Text()
	}
	review.ReviewerID = r.id("reviewer_id")
	review.At = r.time("at")
	r.of.End()
	return &review
}
