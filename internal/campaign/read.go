package campaign

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/jsonscan"
	"adnet/internal/money"
	"adnet/internal/share"
)

// record is a campaign as nodes read it.
type record struct {
	*Campaign
	Standing Standing `json:"standing,omitzero"`
}

// Record returns the JSON of c for [Read]: that of the API, and the standing.
func (c *Campaign) Record() ([]byte, error) { return json.Marshal(&record{c, c.Standing}) }

// Read parses text, the output of [Campaign.Record], into c. Strings of c share the memory of text.
// Text of another build with other fields is accepted as well, but parsed more slowly.
func Read(text string, c *Campaign) error {
	if c.readOwn(text) {
		return nil
	}
	return c.readAny(text)
}

func (c *Campaign) readAny(text string) error {
	*c = Campaign{}
	r := record{Campaign: c}
	err := json.Unmarshal([]byte(text), &r)
	c.Standing = r.Standing
	return err
}

// readOwn parses text in the form of this build, which is every campaign of a loading node
// (benchmark row start). It returns false for any other text. The fields are in the order of
// [Campaign].
func (c *Campaign) readOwn(text string) bool {
	in := jsonscan.Read(text)
	f := fields{in.Members()}
	c.ID = f.id("id")
	c.AdvertiserID = f.id("advertiser_id")
	c.Name = f.Value("name").Text()
	c.Status = Status(f.Value("status").Text())
	c.Format = Format(f.Value("format").Text())
	c.Headline = f.Value("headline").Text()
	c.Subtext = f.Value("subtext").Text()
	c.MediaURL = f.Value("media_url").Text()
	c.PosterURL = f.Value("poster_url").Text()
	c.LogoURL = f.Value("logo_url").Text()
	c.CTALabel = f.Value("cta_label").Text()
	c.CTAURL = f.Value("cta_url").Text()
	c.SkippableAfterSec = int(f.Value("skippable_after_sec").Whole())
	c.BillingModel = BillingModel(f.Value("billing_model").Text())
	c.BillingEvent = BillingEvent(f.Value("billing_event").Text())
	c.BidAmount = f.amount("bid_amount")
	c.DailyBudget = f.amount("daily_budget")
	c.TotalBudget = f.amount("total_budget")
	c.TargetCPA = f.amount("target_cpa")
	c.TargetROAS = f.amountOrNull("target_roas")
	c.Goal = Goal(f.Value("optimization_goal").Text())
	c.GoalStatus = GoalStatus(f.Value("goal_status").Text())
	c.GoalMultiplier, c.GoalPrice = f.amount("goal_multiplier"), f.amount("goal_price")
	c.GoalConversions = f.Value("goal_conversions").Whole()
	c.CreditFunded = f.Value("credit_funded").Bool()
	c.Pacing = Pacing(f.Value("pacing").Text())
	c.FrequencyCap = int(f.Value("frequency_cap").Whole())
	c.ClickID = ClickID(f.Value("click_id").Text())
	c.ConversionType = f.Value("conversion_type").Text()
	c.StartAt, c.EndAt = f.timeOrNull("start_at"), f.timeOrNull("end_at")
	c.MinRelevance = f.share("min_relevance")
	c.Mode = TargetingMode(f.Value("targeting_mode").Text())
	c.IntentTokens = f.Value("target_intent_tokens").Texts()
	c.Keywords = f.Value("target_keywords").Texts()
	c.ActiveTools = f.Value("target_active_tools").Texts()
	c.HostApps = f.Value("target_host_apps").Texts()
	c.Surfaces = f.Value("target_surfaces").Texts()
	c.IntegrationMethods = f.Value("target_integration_methods").Texts()
	c.Regions = f.Value("target_regions").Texts()
	c.Languages = f.Value("target_languages").Texts()
	c.Deals = f.Value("deal_ids").Texts()
	c.Categories = f.Value("categories").Texts()
	c.ExcludeContexts = f.Value("exclude_contexts").Texts()
	c.SensitiveContexts = f.Value("sensitive_contexts").Texts()
	c.Trades = f.Value("trades").Texts()
	c.PolicyViolations = f.violations("policy_violations")
	c.Review = f.review(&in, "review")
	c.Reviewed = f.Value("reviewed").Bool()
	c.Approved = f.creative(&in, "approved")
	if f.Next("delivers") {
		c.Reach = Reach(in.Text())
	}
	if f.Next("delivery_bound") {
		b := in.Members()
		c.DeliveryBound = &DeliveryBound{Bound(b.Value("reason").Text()), b.Value("cure").Text()}
		b.End()
	}
	if f.Next("review_reason") {
		c.Queued = Queued(in.Text())
	}
	c.ConfigVersion = f.Value("config_version").Whole()
	c.CreatedAt = f.time("created_at")
	c.UpdatedAt = f.time("updated_at")
	c.SpentToday = f.amount("spent_today")
	c.SpentTotal = f.amount("spent_total")
	if f.Next("advertiser") {
		a := in.Members()
		c.Advertiser.Name, c.Advertiser.Verified = a.Value("name").Text(), a.Value("verified").Bool()
		a.End()
	}
	if f.Next("standing") {
		c.Standing = readStanding(&in)
	}
	if f.Next("seal") { // of a record in Redis; its reader has checked it
		in.Skip()
	}
	f.End()
	return in.Done()
}

// fields reads the fields of one object in order.
type fields struct{ jsonscan.Members }

func (f *fields) id(name string) uuid.UUID {
	in := f.Value(name)
	return jsonscan.Parsed(in, in.Text(), uuid.Parse)
}

func (f *fields) time(name string) time.Time {
	in := f.Value(name)
	return jsonscan.Parsed(in, in.Text(), parseTime)
}

func (f *fields) timeOrNull(name string) *time.Time {
	in := f.Value(name)
	if in.Peek() == 'n' {
		in.Skip()
		return nil
	}
	at := jsonscan.Parsed(in, in.Text(), parseTime)
	return &at
}

var errOtherTime = errors.New("not a time in the form of this build")

// parseTime accepts only UTC, and none of the forms beyond RFC 3339 that [time.Parse] accepts: an
// hour of one digit, a decimal comma.
func parseTime(s string) (time.Time, error) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[len("2006-01-02T15")] != ':' || s[len(s)-1] != 'Z' ||
		strings.Contains(s, ",") {
		return time.Time{}, errOtherTime
	}
	return time.Parse(time.RFC3339, s)
}

func readStanding(in *jsonscan.Reader) (s Standing) {
	f := fields{in.Members()}
	s.Family = f.id("family")
	for _, at := range []struct {
		name string
		to   *int64
	}{{"vote", &s.Vote}, {"click_rate", &s.ClickRate}, {"convert_rate", &s.ConvertRate}} {
		if f.Next(at.name) {
			*at.to = in.Whole()
		}
	}
	if f.Next("ceiling") {
		s.Ceiling = amount(in)
	}
	if f.Next("bound") {
		s.Bound = Bound(in.Text())
	}
	f.End()
	return s
}

func (f *fields) share(name string) share.Share {
	in := f.Value(name)
	return jsonscan.Parsed(in, in.Number(), share.Parse)
}

func (f *fields) amount(name string) money.Micros { return amount(f.Value(name)) }

func (f *fields) amountOrNull(name string) *money.Micros {
	in := f.Value(name)
	if in.Peek() == 'n' {
		in.Skip()
		return nil
	}
	present := amount(in)
	return &present
}

func amount(in *jsonscan.Reader) money.Micros { return jsonscan.Parsed(in, in.Number(), money.Parse) }

func (f *fields) violations(name string) []Violation {
	in, list := f.Value(name), []Violation{}
	in.Each(func() {
		v := in.Members()
		found := Violation{
			Rule: v.Value("rule").Text(), Field: v.Value("field").Text(), Message: v.Value("message").Text(),
		}
		if v.Next("holds") {
			found.Holds = in.Bool()
		}
		list = append(list, found)
		v.End()
	})
	return list
}

// review parses an optional field. It returns nil if the field does not come next.
func (f *fields) review(in *jsonscan.Reader, name string) *Review {
	if !f.Next(name) {
		return nil
	}
	r := fields{in.Members()}
	review := Review{Decision: r.Value("decision").Text()}
	if r.Next("notes") {
		review.Notes = in.Text()
	}
	review.ReviewerID = r.id("reviewer_id")
	review.At = r.time("at")
	if r.Next("creative") {
		review.Creative = in.Text()
	}
	r.End()
	return &review
}

// creative parses an optional field. It returns nil if the field does not come next.
func (f *fields) creative(in *jsonscan.Reader, name string) *Creative {
	if !f.Next(name) {
		return nil
	}
	v := in.Members()
	creative := Creative{Format: Format(v.Value("format").Text())}
	for _, text := range []struct {
		name string
		to   *string
	}{
		{"headline", &creative.Headline}, {"subtext", &creative.Subtext}, {"cta_label", &creative.CTALabel},
		{"cta_url", &creative.CTAURL}, {"media_url", &creative.MediaURL}, {"poster_url", &creative.PosterURL},
		{"logo_url", &creative.LogoURL},
	} {
		*text.to = v.Value(text.name).Text()
	}
	v.End()
	return &creative
}
