package campaign

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/account"
	"adnet/internal/adtext"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/share"
	"adnet/internal/traffic"
)

// The limits of the specification (section Limits) and, for fields without one, adnet's own.
const (
	MaxHeadline   = 60 // code points after NFC
	MaxSubtext    = 280
	MaxName       = 200
	MaxCTALabel   = 40
	MaxURL        = 2048 // bytes
	MaxListValues = 200
	MaxListValue  = 100  // bytes
	maxNotes      = 2000 // bytes of a review

	MinBid         = money.USD / 100
	MaxBid         = 1_000 * money.USD
	DefaultBid     = 5 * money.USD
	MinBudget      = money.USD
	MaxDailyBudget = 1_000_000 * money.USD
	DefaultDaily   = 50 * money.USD
	MaxTotalBudget = 10_000_000 * money.USD
	DefaultTotal   = 1_000 * money.USD
	DefaultSkipSec = 3
	maxSkipSec     = 3600
	DefaultCap     = 3 // impressions per session and UTC day
	MaxCap         = 1000

	// MaxConversionType is the length of a conversion's type in bytes.
	MaxConversionType = 64

	maxROAS         = 1_000_000 * money.USD
	defaultCTALabel = "Learn more"
)

// Fields holds the fields of a campaign that its owner sets. A nil pointer or slice leaves a field
// unchanged, or at its default on creation.
type Fields struct {
	Name              *string       `json:"name"`
	Format            *Format       `json:"format"`
	Headline          *string       `json:"headline"`
	Subtext           *string       `json:"subtext"`
	MediaURL          *string       `json:"media_url"`
	PosterURL         *string       `json:"poster_url"`
	LogoURL           *string       `json:"logo_url"`
	CTALabel          *string       `json:"cta_label"`
	CTAURL            *string       `json:"cta_url"`
	SkippableAfterSec *int          `json:"skippable_after_sec"`
	BillingModel      *BillingModel `json:"billing_model"`
	BillingEvent      *BillingEvent `json:"billing_event"`
	BidAmount         *money.Micros `json:"bid_amount"`
	DailyBudget       *money.Micros `json:"daily_budget"`
	TotalBudget       *money.Micros `json:"total_budget"`
	TargetCPA         *money.Micros `json:"target_cpa"`
	TargetROAS        Ratio         `json:"target_roas"`
	Goal              *Goal         `json:"optimization_goal"`
	Pacing            *Pacing       `json:"pacing"`
	FrequencyCap      *int          `json:"frequency_cap"`
	ClickID           *ClickID      `json:"click_id"`
	ConversionType    *string       `json:"conversion_type"`
	MinRelevance      *share.Share  `json:"min_relevance"`
	StartAt           Date          `json:"start_at"`
	EndAt             Date          `json:"end_at"`

	TargetingMode      *TargetingMode `json:"targeting_mode"`
	IntentTokens       []string       `json:"target_intent_tokens"`
	Keywords           []string       `json:"target_keywords"`
	ActiveTools        []string       `json:"target_active_tools"`
	HostApps           []string       `json:"target_host_apps"`
	Surfaces           []string       `json:"target_surfaces"`
	IntegrationMethods []string       `json:"target_integration_methods"`
	Regions            []string       `json:"target_regions"`
	Languages          []string       `json:"target_languages"`
	Deals              []string       `json:"deal_ids"`
	Categories         []string       `json:"categories"`

	ExcludeContexts   []string `json:"exclude_contexts"`
	SensitiveContexts []string `json:"sensitive_contexts"`
	Trades            []string `json:"trades"`
}

// Ratio is a field that null clears.
type Ratio struct {
	Set   bool
	Value *money.Micros // six decimals; nil clears
}

// UnmarshalJSON parses a number, rounded to the nearest millionth, or null. Any other form is an
// error.
func (r *Ratio) UnmarshalJSON(b []byte) error {
	r.Set, r.Value = true, nil
	if string(b) == "null" {
		return nil
	}
	r.Value = new(money.Micros)
	if r.Value.UnmarshalJSON(b) != nil {
		return errForm("a number, or null")
	}
	return nil
}

// defaults returns a campaign with the specification's default in every field but the format, which
// depends on the media.
func defaults() Campaign {
	return Campaign{
		CTALabel: defaultCTALabel, SkippableAfterSec: DefaultSkipSec,
		BillingModel: CPM, BillingEvent: OnImpression, BidAmount: DefaultBid, DailyBudget: DefaultDaily,
		TotalBudget: DefaultTotal, Goal: GoalManual,
		Pacing: PacingEven, FrequencyCap: DefaultCap, ClickID: ClickIDOn, Targeting: Targeting{Mode: Broad},
	}
}

// Defaults returns the JSON value of each optional field that the owner sets, as of a new campaign.
// An empty format is chosen by the media, an empty name is the headline.
var Defaults = sync.OnceValue(func() (fields map[string]jsontext.Value) {
	c := defaults()
	text, err := json.Marshal(&c)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(err) // the defaults of a campaign are valid JSON
	}
	for _, required := range []string{"headline", "cta_url", "id", "status", "config_version"} {
		delete(fields, required)
	}
	return fields
})

// apply sets the fields of c from f and checks that the result is complete. The error names the
// field.
func (f *Fields) apply(c *Campaign) error {
	if err := f.plan(c); err != nil {
		return err
	}
	return complete(c)
}

// plan is apply for a campaign whose creative may still be incomplete.
func (f *Fields) plan(c *Campaign) error {
	created, had := c.ID == uuid.Nil, c.Goal
	set(&c.Format, f.Format)
	set(&c.SkippableAfterSec, f.SkippableAfterSec)
	set(&c.BillingModel, f.BillingModel)
	set(&c.BillingEvent, f.BillingEvent)
	set(&c.BidAmount, f.BidAmount)
	set(&c.DailyBudget, f.DailyBudget)
	set(&c.TotalBudget, f.TotalBudget)
	set(&c.TargetCPA, f.TargetCPA)
	set(&c.Goal, f.Goal)
	set(&c.Pacing, f.Pacing)
	set(&c.FrequencyCap, f.FrequencyCap)
	set(&c.ClickID, f.ClickID)
	set(&c.MinRelevance, f.MinRelevance)
	set(&c.Mode, f.TargetingMode)
	if f.TargetROAS.Set {
		c.TargetROAS = f.TargetROAS.Value
	}
	if f.StartAt.Set {
		c.StartAt = f.StartAt.At
	}
	if f.EndAt.Set {
		c.EndAt = f.EndAt.At
	}
	setLink(&c.MediaURL, f.MediaURL)
	setLink(&c.PosterURL, f.PosterURL)
	setLink(&c.LogoURL, f.LogoURL)
	setLink(&c.CTAURL, f.CTAURL)
	if c.Format == "" {
		c.Format = Image
		if c.MediaURL == "" {
			c.Format = Native // there is only text to show
		}
	}
	setText(&c.Name, f.Name)
	setText(&c.Headline, f.Headline)
	setText(&c.Subtext, f.Subtext)
	setText(&c.CTALabel, f.CTALabel)
	if f.ConversionType != nil {
		c.ConversionType = traffic.ConversionName(*f.ConversionType)
	}
	if err := f.applyTargeting(&c.Targeting); err != nil {
		return err
	}
	if f.Deals != nil {
		deals, err := cleanList("deal_ids", f.Deals)
		if err != nil {
			return err
		}
		c.Deals = deals
	}
	if f.Categories != nil {
		categories, err := readCategories(f.Categories)
		if err != nil {
			return err
		}
		c.Categories = categories
	}
	if err := f.applySuits(c); err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = c.Headline
	}
	f.setBidForGoal(c, had, created)
	if err := check(c); err != nil {
		return err
	}
	return c.checkGoal()
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

func setText(dst, src *string) {
	if src != nil {
		*dst = norm.NFC.String(strings.TrimSpace(*src))
	}
}

// setLink stores a link with its host in ASCII. An invalid link is stored unchanged: [checkURLs]
// reports its field.
func setLink(dst, src *string) {
	if src == nil {
		return
	}
	*dst = *src
	if u, err := url.Parse(*src); err != nil || !plainHost(u.Hostname()) {
		return
	}
	if link, err := adtext.ASCIILink(*src); err == nil {
		*dst = link
	}
}

// showsCreative reports whether f sets a field of the creative.
func (f *Fields) showsCreative() bool {
	for _, field := range []*string{f.Headline, f.Subtext, f.CTALabel, f.CTAURL, f.MediaURL, f.PosterURL, f.LogoURL} {
		if field != nil {
			return true
		}
	}
	return false
}

// targets reports whether f sets a list of the targeting.
func (f *Fields) targets() bool {
	for _, list := range [][]string{
		f.IntentTokens, f.Keywords, f.ActiveTools, f.HostApps, f.Surfaces, f.IntegrationMethods, f.Regions, f.Languages,
		f.Deals,
	} {
		if list != nil {
			return true
		}
	}
	return false
}

func (f *Fields) applyTargeting(t *Targeting) error {
	for _, list := range []struct {
		field string
		src   []string
		dst   *[]string
	}{
		{"target_intent_tokens", f.IntentTokens, &t.IntentTokens},
		{"target_keywords", f.Keywords, &t.Keywords},
		{"target_active_tools", f.ActiveTools, &t.ActiveTools},
		{"target_host_apps", f.HostApps, &t.HostApps},
		{"target_surfaces", f.Surfaces, &t.Surfaces},
		{"target_integration_methods", f.IntegrationMethods, &t.IntegrationMethods},
		{"target_regions", f.Regions, &t.Regions},
		{"target_languages", f.Languages, &t.Languages},
	} {
		if list.src != nil {
			values, err := cleanList(list.field, list.src)
			if err != nil {
				return err
			}
			*list.dst = values
		}
	}
	for i, method := range t.IntegrationMethods {
		if traffic.Method(method) == "" {
			return invalidItem(
				"target_integration_methods", i, "must be one of %s", strings.Join(traffic.Methods(), ", "),
			)
		}
	}
	return f.checkPlaces(t)
}

// MaxCategories is the maximum number of categories of a campaign.
const MaxCategories = 10

func readCategories(values []string) ([]string, error) {
	if len(values) > MaxCategories {
		return nil, invalid("categories", "may have at most %d values", MaxCategories)
	}
	clean := make([]string, 0, len(values))
	for i, value := range values {
		value, ok := account.ReadCategory(value)
		if !ok {
			return nil, invalidItem(
				"categories", i, "must be a category of the IAB's Content Taxonomy 1.0, such as IAB7 or IAB7-39",
			)
		}
		if !slices.Contains(clean, value) {
			clean = append(clean, value)
		}
	}
	return clean, nil
}

// cleanList trims values and drops duplicates, keeping the order. It rejects blank values and
// values without a letter or digit: a list without them could be empty, which restricts nothing.
func cleanList(field string, values []string) ([]string, error) {
	if len(values) > MaxListValues {
		return nil, invalid(field, "may have at most %d values", MaxListValues)
	}
	clean := make([]string, 0, len(values))
	for i, value := range values {
		value = norm.NFC.String(strings.TrimSpace(value))
		switch {
		case adtext.Blank(value):
			return nil, invalidItem(
				field, i, "has no text: leave it out, or send an empty list, which sets no condition",
			)
		case !strings.ContainsFunc(value, isWordRune):
			return nil, invalidItem(field, i, "has no letter or digit, so nothing can match it: leave it out")
		case len(value) > MaxListValue || hasControl(value):
			return nil, invalidItem(field, i, "is longer than %d bytes or contains control characters", MaxListValue)
		case !slices.Contains(clean, value):
			clean = append(clean, value)
		}
	}
	return clean, nil
}

// isWordRune reports whether a rune is a letter or a digit of any script.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func check(c *Campaign) error {
	for _, step := range []func(*Campaign) error{checkText, checkURLs, checkKinds, checkAmounts, checkDates} {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// complete checks that c has the required parts of an ad.
func complete(c *Campaign) error {
	switch {
	case c.Headline == "":
		return invalid("headline", "is required")
	case c.CTAURL == "":
		return invalid("cta_url", "is required")
	}
	return nil
}

func checkText(c *Campaign) error {
	for _, text := range []struct {
		field, value string
		limit        int
	}{
		{"headline", c.Headline, MaxHeadline}, {"subtext", c.Subtext, MaxSubtext}, {"name", c.Name, MaxName},
		{"cta_label", c.CTALabel, MaxCTALabel},
	} {
		if utf8.RuneCountInString(text.value) > text.limit {
			return invalid(text.field, "is longer than %d characters", text.limit)
		}
		if hasControl(text.value) {
			return invalid(text.field, "holds control characters")
		}
	}
	return nil
}

func checkURLs(c *Campaign) error {
	for _, link := range linksOf(c) {
		if link.value == "" {
			continue
		}
		if err := checkURL(link.value); err != nil {
			return invalid(link.field, "must be an absolute HTTPS URL: %s", err)
		}
	}
	return nil
}

// checkURL requires https, a host and a plain form. url.Parse alone accepts "https:evil",
// "https:/evil", "https://", user information, and quotes and angle brackets in the host.
func checkURL(value string) error {
	if len(value) > MaxURL {
		return fmt.Errorf("it is longer than %d bytes", MaxURL)
	}
	if hasControl(value) || strings.ContainsAny(value, " \\") {
		return fmt.Errorf("it contains spaces, backslashes or control characters")
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return fmt.Errorf("it cannot be parsed")
	case u.Scheme != "https":
		return fmt.Errorf("its scheme is not https")
	case u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("it has no host")
	case !plainHost(u.Hostname()):
		return fmt.Errorf("its host is not a name or an address")
	case !resolvable(value):
		return fmt.Errorf("its host is not a valid name (IDNA)")
	case u.User != nil:
		return fmt.Errorf("it contains user information")
	}
	return nil
}

func resolvable(link string) bool {
	_, err := adtext.ASCIILink(link)
	return err == nil
}

func plainHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '-' && r != '.' && r != '_'
	})
}

func checkKinds(c *Campaign) error {
	switch {
	case !slices.Contains([]Format{Image, Video, Native}, c.Format):
		return invalid("format", "must be image, video or native")
	case !slices.Contains([]BillingModel{CPM, CPC, CPA}, c.BillingModel):
		return invalid("billing_model", "must be cpm, cpc or cpa")
	case c.BillingEvent != OnImpression && c.BillingEvent != OnView:
		return invalid("billing_event", "must be impression or viewable")
	case c.BillingEvent == OnView && c.BillingModel != CPM:
		return invalid(
			"billing_event", "viewable needs billing_model cpm: with %s nothing is paid for a view", c.BillingModel,
		)
	case !slices.Contains([]Goal{GoalTargetCPA, GoalTargetROAS, GoalMaxConversions, GoalManual}, c.Goal):
		return invalid("optimization_goal", "must be target_cpa, target_roas, max_conversions or manual")
	case c.Pacing != PacingEven && c.Pacing != PacingASAP:
		return invalid("pacing", "must be even or asap")
	case c.Mode != Broad && c.Mode != Exact:
		return invalid(
			"targeting_mode",
			"must be broad (target tokens add to the campaign's meaning) or exact (they are a filter)",
		)
	case !c.MinRelevance.Valid():
		return invalid("min_relevance", "must be from 0 (the network's floor) to 1")
	case c.FrequencyCap < 0 || c.FrequencyCap > MaxCap:
		return invalid("frequency_cap", "must be from 0 (no cap) to %d impressions per session and UTC day", MaxCap)
	case c.ClickID != ClickIDOn && c.ClickID != ClickIDOff:
		return invalid("click_id", "must be on or off")
	case len(c.ConversionType) > MaxConversionType || hasControl(c.ConversionType):
		return invalid("conversion_type", "must be one line of at most %d bytes", MaxConversionType)
	case c.SkippableAfterSec < 0 || c.SkippableAfterSec > maxSkipSec:
		return invalid("skippable_after_sec", "must be from 0 to %d", maxSkipSec)
	}
	return nil
}

func checkAmounts(c *Campaign) error {
	for _, amount := range []struct {
		field           string
		value, low, top money.Micros
	}{
		{"bid_amount", c.BidAmount, MinBid, MaxBid},
		{"daily_budget", c.DailyBudget, MinBudget, MaxDailyBudget},
		{"total_budget", c.TotalBudget, MinBudget, MaxTotalBudget},
		{"target_cpa", c.TargetCPA, 0, MaxTotalBudget},
	} {
		if amount.value < amount.low || amount.value > amount.top {
			return invalid(amount.field, "must be from %s to %s USD", amount.low, amount.top)
		}
	}
	if c.TargetROAS != nil && (*c.TargetROAS < 0 || *c.TargetROAS > maxROAS) {
		return invalid("target_roas", "must be from 0 to %s", maxROAS)
	}
	return nil
}

func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

func invalid(field, format string, args ...any) error {
	return errs.New(errs.InvalidRequest, "%s %s", field, fmt.Sprintf(format, args...)).With("field", field)
}

// invalidItem rejects the item at index i of a list.
func invalidItem(field string, i int, format string, args ...any) error {
	return errs.New(errs.InvalidRequest, "%s[%d] %s", field, i, fmt.Sprintf(format, args...)).At(field, i)
}
