package campaign

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/account"
	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/money/share"
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

	maxROAS = 1_000_000 * money.USD
)

// Sent has the fields that a caller may send with a draft that is not stored: those of a campaign, as
// it was read, and the choices of its creation.
type Sent struct {
	Campaign
	UseAdCredit bool `json:"use_ad_credit"`
}

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
func defaults() (c Campaign) {
	for i := range Table {
		if f := &Table[i]; f.Default != nil {
			reflect.ValueOf(f.At(&c)).Elem().Set(reflect.ValueOf(f.Default))
		}
	}
	return c
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
	for i := range Table {
		if field := &Table[i]; field.By == ByOwner && field.Kind != List {
			field.set(field.At(c), f.value(field))
		}
	}
	if c.Format == "" {
		c.Format = Image
		if c.MediaURL == "" {
			c.Format = Native // there is only text to show
		}
	}
	if err := f.setLists(c); err != nil {
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

// owned has the index of each field of [Fields] by its JSON name.
var owned = func() map[string]int {
	index := map[string]int{}
	for i, t := 0, reflect.TypeFor[Fields](); i < t.NumField(); i++ {
		index[t.Field(i).Tag.Get("json")] = i
	}
	return index
}()

// value returns the value of a field in f.
func (f *Fields) value(field *Field) reflect.Value {
	return reflect.ValueOf(f).Elem().Field(owned[field.Name])
}

// set sets a field of a campaign to the value of a field of [Fields], if there is one. at is the
// result of [Row.At].
func (s *Spec) set(at any, value reflect.Value) {
	switch in := value.Interface().(type) {
	case Ratio:
		if in.Set {
			*at.(**money.Micros) = in.Value
		}
	case Date:
		if in.Set {
			*at.(**time.Time) = in.At
		}
	case *string:
		s.setString(at.(*string), in)
	default:
		if !value.IsNil() {
			to := reflect.ValueOf(at).Elem()
			to.Set(value.Elem().Convert(to.Type()))
		}
	}
}

func (s *Spec) setString(dst, src *string) {
	switch {
	case s.Kind == Text:
		setText(dst, src)
	case s.Kind == Link:
		setLink(dst, src)
	case src != nil && s.Kind == Line:
		*dst = traffic.ConversionName(*src)
	case src != nil:
		*dst = *src
	}
}

func setText(dst, src *string) {
	if src != nil {
		*dst = norm.NFC.String(strings.TrimSpace(*src))
	}
}

// setLink stores a link with its host in ASCII. An invalid link is stored unchanged: [check]
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

// showsCreative reports whether f sets a text or link of the creative.
func (f *Fields) showsCreative() bool {
	return slices.ContainsFunc(creative, func(field Field) bool {
		return field.Kind != Choice && !f.value(&field).IsNil()
	})
}

// targets reports whether f sets a list of the targeting.
func (f *Fields) targets() bool {
	return slices.ContainsFunc(lists, func(field Field) bool { return field.Targets && !f.value(&field).IsNil() })
}

// setLists sets the lists of c from f.
func (f *Fields) setLists(c *Campaign) error {
	if err := f.setEach(c, targetingFields); err != nil {
		return err
	}
	for i, method := range c.IntegrationMethods {
		if traffic.Method(method) == "" {
			return invalidItem(
				"target_integration_methods", i, "must be one of %s", strings.Join(traffic.Methods(), ", "),
			)
		}
	}
	if err := f.checkPlaces(&c.Targeting); err != nil {
		return err
	}
	return f.setEach(c, otherLists)
}

func (f *Fields) setEach(c *Campaign, fields []Field) error {
	for i := range fields {
		field := &fields[i]
		if field.Kind != List || f.value(field).IsNil() {
			continue
		}
		clean := field.clean
		if clean == nil {
			clean = cleanList
		}
		values, err := clean(field.Name, f.value(field).Interface().([]string))
		if err != nil {
			return err
		}
		*field.At(c).(*[]string) = values
	}
	return nil
}

// MaxCategories is the maximum number of categories of a campaign.
const MaxCategories = 10

func readCategories(field string, values []string) ([]string, error) {
	if len(values) > MaxCategories {
		return nil, invalid(field, "may have at most %d values", MaxCategories)
	}
	clean := make([]string, 0, len(values))
	for i, value := range values {
		value, ok := account.ReadCategory(value)
		if !ok {
			return nil, invalidItem(
				field, i, "must be a category of the IAB's Content Taxonomy 1.0, such as IAB7 or IAB7-39",
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
	for i := range limited {
		if err := limited[i].check(limited[i].At(c)); err != nil {
			return err
		}
		if limited[i].Name == "billing_event" && c.BillingEvent == OnView && c.BillingModel != CPM {
			return invalid(
				"billing_event", "viewable needs billing_model cpm: with %s nothing is paid for a view", c.BillingModel,
			)
		}
	}
	return checkDates(c)
}

// check checks the limits of the value at at, the result of [Row.At].
func (s *Spec) check(at any) error {
	switch s.Kind {
	case Text:
		switch text := *at.(*string); {
		case utf8.RuneCountInString(text) > s.Max:
			return invalid(s.Name, "is longer than %d characters", s.Max)
		case hasControl(text):
			return invalid(s.Name, "holds control characters")
		}
	case Link:
		if link := *at.(*string); link != "" {
			if err := checkURL(link); err != nil {
				return invalid(s.Name, "must be an absolute HTTPS URL: %s", err)
			}
		}
	case Choice:
		if !slices.Contains(s.Values, *at.(*string)) {
			return s.outside(at)
		}
	case Line:
		if line := *at.(*string); len(line) > s.Max || hasControl(line) {
			return invalid(s.Name, "must be one line of at most %d bytes", s.Max)
		}
	case Number:
		if n, set := number(at); set && (n < s.Low || n > s.High) {
			return s.outside(at)
		}
	}
	return nil
}

// number returns the value of a [Number]. set is false for null.
func number(at any) (n int64, set bool) {
	switch at := at.(type) {
	case *int:
		return int64(*at), true
	case *money.Micros:
		return int64(*at), true
	case *share.Share:
		return int64(*at), true
	case **money.Micros:
		if *at != nil {
			return int64(**at), true
		}
	}
	return 0, false
}

// outside returns the error of a value that breaks the limits.
func (s *Spec) outside(at any) error {
	wants := s.Wants
	if wants == "" {
		switch at.(type) {
		case *string:
			last := len(s.Values) - 1
			wants = strings.Join(s.Values[:last], ", ") + " or " + s.Values[last]
		case *int:
			wants = fmt.Sprintf("from %d to %d", s.Low, s.High)
		case *money.Micros:
			wants = fmt.Sprintf("from %s to %s USD", money.Micros(s.Low), money.Micros(s.High))
		default:
			wants = fmt.Sprintf("from %s to %s", money.Micros(s.Low), money.Micros(s.High))
		}
	}
	return invalid(s.Name, "must be %s", wants)
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
