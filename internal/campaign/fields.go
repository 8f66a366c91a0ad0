package campaign

import (
	"slices"
	"strconv"
	"strings"

	"adnet/internal/campaign/subject"
	"adnet/internal/money/share"
)

//go:generate go run ./gen

// Kind is the kind of a field's value. It determines the limits that apply.
type Kind uint8

// The kinds.
const (
	Other  Kind = iota // an id, a flag, a time
	Text               // trimmed, in NFC; Max is in characters
	Link               // an absolute HTTPS URL, or empty
	Choice             // one of Values
	Line               // a conversion's name; Max is in bytes
	Number             // from Low to High: an integer, an amount, a share or a ratio
	List               // of texts
	Object             // in a column of the type jsonb
)

// Setter is the source of a field's value.
type Setter uint8

// The setters.
const (
	ByOwner    Setter = iota // the owner of the campaign, in [Fields]
	ByService                // this package and the stores
	OnCreation               // set once
	OnReads                  // computed, not in the campaign's row
)

// Spec is a row of the table of fields: everything about a field but its place in the struct.
type Spec struct {
	Name   string // in JSON
	Column string // in PostgreSQL; [Table] has Name here unless the row states another
	Kind   Kind
	By     Setter
	Served bool // a node stores it to serve ads, which costs memory (package ingress/catalog)

	Targets   bool // a list of the targeting
	Required  bool // of every ad
	OmitEmpty bool // JSON leaves an empty one out

	Values    []string // of a Choice
	Max       int      // of a Text or Line
	Low, High int64    // of a Number; High is 0 for no limit
	Wants     string   // completes "must be"; empty: derived from the limits
	Default   any      // of new campaigns, in the type of the value; nil: the zero value
	Absent    string   // of campaigns older than the field
	Schema    string   // the schema of the value in openapi.json, if it has a name
	Items     string   // the schema of a list's items, likewise

	// clean returns the values of a List in their stored form; nil means cleanList.
	clean func(field string, values []string) ([]string, error)
}

// Row is a row of a table of T's fields. At returns a pointer to the value. Strings of any type are
// returned as *string.
type Row[T any] struct {
	Spec
	At func(*T) any
}

// Field is a row of [Table].
type Field = Row[Campaign]

// CreativeTable is the table of a creative's fields, in the order of [Creative]. The owner sets
// them, and nodes store them. Policy findings, reviews and digests cover texts and links in this
// order.
var CreativeTable = []Row[Creative]{
	{Spec{Name: "format", Kind: Choice, Values: list(Image, Video, Native), Schema: "Format"},
		func(v *Creative) any { return (*string)(&v.Format) }},
	{Spec{Name: "headline", Kind: Text, Max: MaxHeadline, Required: true},
		func(v *Creative) any { return &v.Headline }},
	{Spec{Name: "subtext", Kind: Text, Max: MaxSubtext},
		func(v *Creative) any { return &v.Subtext }},
	{Spec{Name: "cta_label", Kind: Text, Max: MaxCTALabel, Default: "Learn more"},
		func(v *Creative) any { return &v.CTALabel }},
	{Spec{Name: "cta_url", Kind: Link, Required: true},
		func(v *Creative) any { return &v.CTAURL }},
	{Spec{Name: "media_url", Kind: Link}, func(v *Creative) any { return &v.MediaURL }},
	{Spec{Name: "poster_url", Kind: Link}, func(v *Creative) any { return &v.PosterURL }},
	{Spec{Name: "logo_url", Kind: Link}, func(v *Creative) any { return &v.LogoURL }},
}

// Table is the table of a campaign's fields in the order of its JSON. The columns of PostgreSQL,
// the readers, the stored form of nodes, the limits and the schemas of openapi.json follow it.
var Table = slices.Concat(
	[]Field{
		{Spec{Name: "id", By: OnCreation}, func(c *Campaign) any { return &c.ID }},
		{Spec{Name: "advertiser_id", By: OnCreation, Served: true}, func(c *Campaign) any { return &c.AdvertiserID }},
		{Spec{Name: "name", Kind: Text, Max: MaxName}, func(c *Campaign) any { return &c.Name }},
		{Spec{Name: "status", Kind: Choice, By: ByService, Served: true, Schema: "Status",
			Values: list(Draft, InReview, Active, Paused, Rejected, Archived)},
			func(c *Campaign) any { return (*string)(&c.Status) }},
	},
	creative,
	[]Field{
		{Spec{Name: "skippable_after_sec", Kind: Number, High: maxSkipSec, Default: DefaultSkipSec, Served: true},
			func(c *Campaign) any { return &c.SkippableAfterSec }},
	},
	moneyFields, deliveryFields, targetingFields, otherLists,
	[]Field{
		{Spec{Name: "policy_violations", Kind: Object, By: ByService, Items: "Violation"},
			func(c *Campaign) any { return &c.PolicyViolations }},
		{Spec{Name: "review", Kind: Object, By: ByService, OmitEmpty: true, Schema: "Review"},
			func(c *Campaign) any { return &c.Review }},
		{Spec{Name: "reviewed", By: ByService}, func(c *Campaign) any { return &c.Reviewed }},
		{Spec{Name: "approved", Column: "approved_creative", Kind: Object, By: ByService, OmitEmpty: true,
			Schema: "Creative"},
			func(c *Campaign) any { return &c.Approved }},
		{Spec{Name: "delivers", Kind: Choice, By: OnReads, OmitEmpty: true, Values: list(Everywhere, Pages, Nowhere)},
			func(c *Campaign) any { return (*string)(&c.Reach) }},
		{Spec{Name: "delivery", Kind: Choice, By: OnReads, OmitEmpty: true, Values: deliveries},
			func(c *Campaign) any { return (*string)(&c.Delivery) }},
		{Spec{Name: "delivery_bound", Kind: Object, By: OnReads, OmitEmpty: true, Schema: "DeliveryBound"},
			func(c *Campaign) any { return &c.DeliveryBound }},
		{Spec{Name: "review_reason", Kind: Choice, By: OnReads, OmitEmpty: true,
			Values: list(QueuedPending, QueuedBound, QueuedUnreviewed)},
			func(c *Campaign) any { return (*string)(&c.Queued) }},
		{Spec{Name: "config_version", By: ByService, Served: true}, func(c *Campaign) any { return &c.ConfigVersion }},
		{Spec{Name: "created_at", By: OnCreation}, func(c *Campaign) any { return &c.CreatedAt }},
		{Spec{Name: "updated_at", By: ByService}, func(c *Campaign) any { return &c.UpdatedAt }},
		{Spec{Name: "spent_today", By: OnReads}, func(c *Campaign) any { return &c.SpentToday }},
		{Spec{Name: "spent_total", By: OnReads}, func(c *Campaign) any { return &c.SpentTotal }},
		{Spec{Name: "advertiser", Kind: Object, By: OnReads, OmitEmpty: true, Schema: "Sponsor"},
			func(c *Campaign) any { return &c.Advertiser }},
	},
)

var moneyFields = []Field{
	{Spec{Name: "billing_model", Kind: Choice, Values: list(CPM, CPC, CPA), Default: string(CPM), Served: true},
		func(c *Campaign) any { return (*string)(&c.BillingModel) }},
	{Spec{Name: "billing_event", Kind: Choice, Values: list(OnImpression, OnView), Default: string(OnImpression),
		Absent: string(OnImpression), Served: true},
		func(c *Campaign) any { return (*string)(&c.BillingEvent) }},
	{Spec{Name: "bid_amount", Kind: Number, Low: int64(MinBid), High: int64(MaxBid),
		Default: DefaultBid, Served: true},
		func(c *Campaign) any { return &c.BidAmount }},
	{Spec{Name: "daily_budget", Kind: Number, Low: int64(MinBudget), High: int64(MaxDailyBudget),
		Default: DefaultDaily},
		func(c *Campaign) any { return &c.DailyBudget }},
	{Spec{Name: "total_budget", Kind: Number, Low: int64(MinBudget), High: int64(MaxTotalBudget),
		Default: DefaultTotal},
		func(c *Campaign) any { return &c.TotalBudget }},
	{Spec{Name: "target_cpa", Kind: Number, High: int64(MaxTotalBudget)},
		func(c *Campaign) any { return &c.TargetCPA }},
	{Spec{Name: "target_roas", Kind: Number, High: int64(maxROAS)},
		func(c *Campaign) any { return &c.TargetROAS }},
	{Spec{Name: "optimization_goal", Kind: Choice, Default: string(GoalManual),
		Values: list(GoalTargetCPA, GoalTargetROAS, GoalMaxConversions, GoalManual)},
		func(c *Campaign) any { return (*string)(&c.Goal) }},
	{Spec{Name: "goal_status", Kind: Choice, By: ByService, Schema: "GoalStatus", Column: "-",
		Values: list(GoalOff, GoalLearning, GoalActive)},
		func(c *Campaign) any { return (*string)(&c.GoalStatus) }},
	{Spec{Name: "goal_multiplier", Kind: Number, By: ByService, Low: int64(MinMultiplier), High: int64(MaxMultiplier)},
		func(c *Campaign) any { return &c.GoalMultiplier }},
	{Spec{Name: "goal_price", Kind: Number, By: ByService}, func(c *Campaign) any { return &c.GoalPrice }},
	{Spec{Name: "goal_conversions", Kind: Number, By: ByService}, func(c *Campaign) any { return &c.GoalConversions }},
}

var deliveryFields = []Field{
	{Spec{Name: "credit_funded", By: OnCreation, Served: true}, func(c *Campaign) any { return &c.CreditFunded }},
	{Spec{Name: "pacing", Kind: Choice, Values: list(PacingEven, PacingASAP), Default: string(PacingEven),
		Absent: string(PacingEven), Served: true},
		func(c *Campaign) any { return (*string)(&c.Pacing) }},
	{Spec{Name: "frequency_cap", Kind: Number, High: MaxCap, Default: DefaultCap, Served: true,
		Wants: "from 0 (no cap) to " + strconv.Itoa(MaxCap) + " impressions per session and UTC day"},
		func(c *Campaign) any { return &c.FrequencyCap }},
	{Spec{Name: "click_id", Kind: Choice, Values: list(ClickIDOn, ClickIDOff), Default: string(ClickIDOn),
		Absent: string(ClickIDOn), Served: true},
		func(c *Campaign) any { return (*string)(&c.ClickID) }},
	{Spec{Name: "conversion_type", Kind: Line, Max: MaxConversionType},
		func(c *Campaign) any { return &c.ConversionType }},
	{Spec{Name: "start_at", Served: true}, func(c *Campaign) any { return &c.StartAt }},
	{Spec{Name: "end_at", Served: true}, func(c *Campaign) any { return &c.EndAt }},
	{Spec{Name: "min_relevance", Kind: Number, High: int64(share.Whole), Wants: "from 0 (the network's floor) to 1"},
		func(c *Campaign) any { return &c.MinRelevance }},
}

var targetingFields = []Field{
	{Spec{Name: "targeting_mode", Kind: Choice, Values: list(Broad, Exact), Default: string(Broad),
		Absent: string(Exact),
		Wants:  "broad (target tokens add to the campaign's meaning) or exact (they are a filter)"},
		func(c *Campaign) any { return (*string)(&c.Mode) }},
	{Spec{Name: "target_intent_tokens", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.IntentTokens }},
	{Spec{Name: "target_keywords", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.Keywords }},
	{Spec{Name: "target_active_tools", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.ActiveTools }},
	{Spec{Name: "target_host_apps", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.HostApps }},
	{Spec{Name: "target_surfaces", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.Surfaces }},
	{Spec{Name: "target_integration_methods", Kind: List, Targets: true, Schema: "IntegrationMethods"},
		func(c *Campaign) any { return &c.IntegrationMethods }},
	{Spec{Name: "target_regions", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.Regions }},
	{Spec{Name: "target_languages", Kind: List, Targets: true, Schema: "Values"},
		func(c *Campaign) any { return &c.Languages }},
}

var otherLists = []Field{
	{Spec{Name: "deal_ids", Kind: List, Targets: true, Served: true, Schema: "Deals"},
		func(c *Campaign) any { return &c.Deals }},
	{Spec{Name: "categories", Kind: List, Served: true, Max: MaxCategories, clean: readCategories},
		func(c *Campaign) any { return &c.Categories }},
	{Spec{Name: "exclude_contexts", Kind: List, Served: true, Items: "SubjectID",
		clean: oneOf(subject.Never, subject.Sensitive)},
		func(c *Campaign) any { return &c.ExcludeContexts }},
	{Spec{Name: "sensitive_contexts", Kind: List, Served: true, Items: "SensitiveID", clean: oneOf(subject.Sensitive)},
		func(c *Campaign) any { return &c.SensitiveContexts }},
	{Spec{Name: "trades", Kind: List, Served: true, Items: "TradeID", clean: knownOf(subject.TradeNames())},
		func(c *Campaign) any { return &c.Trades }},
}

// limitOrder is the order in which limits are checked: the error names the first field that breaks
// one. Fields that are not listed come last.
var limitOrder = strings.Fields(`headline subtext name cta_label cta_url media_url poster_url logo_url format
	billing_model billing_event optimization_goal pacing targeting_mode min_relevance frequency_cap click_id
	conversion_type skippable_after_sec bid_amount daily_budget total_budget target_cpa target_roas`)

// limited has the fields with limits in the order of their checks, lists those with a list.
var (
	limited = func() []Field {
		fields := slices.DeleteFunc(slices.Clone(Table), func(f Field) bool {
			return f.By != ByOwner || !slices.Contains([]Kind{Text, Link, Choice, Line, Number}, f.Kind)
		})
		place := func(f Field) int {
			if i := slices.Index(limitOrder, f.Name); i >= 0 {
				return i
			}
			return len(limitOrder)
		}
		slices.SortStableFunc(fields, func(a, b Field) int { return place(a) - place(b) })
		return fields
	}()
	lists = slices.DeleteFunc(slices.Clone(Table), func(f Field) bool { return f.Kind != List })
)

// list returns the values of a choice.
func list[T ~string](values ...T) (names []string) {
	for _, value := range values {
		names = append(names, string(value))
	}
	return names
}

// creative has the fields of a creative as fields of its campaign.
var creative = func() (fields []Field) {
	for i := range CreativeTable {
		f := &CreativeTable[i]
		f.Served = true
		fields = append(fields, Field{f.Spec, func(c *Campaign) any { return f.At(&c.Creative) }})
	}
	return fields
}()

func init() {
	for i := range Table {
		switch f := &Table[i]; {
		case f.Column == "-" || f.By == OnReads:
			f.Column = ""
		case f.Column == "":
			f.Column = f.Name
		}
	}
}

// FieldNamed returns the field with the JSON name, which must exist.
func FieldNamed(name string) *Field {
	return &Table[slices.IndexFunc(Table, func(f Field) bool { return f.Name == name })]
}
