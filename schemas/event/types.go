package event

import "strings"

// Kind is one row of the table of event types. Everything that lists them is derived from it: see
// "Add an event type" in docs/development.md.
type Kind struct {
	Type   Type
	Name   string       // in the API and in the stores
	By     Reporter     // who may report it
	Token  string       // use of the token that proves it, besides the token of a report
	Life   Type         // it counts for as long as an impression, a click or a conversion
	Column string       // its count in statistics
	Billed BillingModel // the model that charges it; none if it is free
}

// Reporter is who may report an event.
type Reporter byte

// The reporters.
const (
	Anyone     Reporter = iota // with a token of the ad: a reader's page or the publisher's server
	Advertiser                 // the campaign's owner, with the id of a click
)

const unbilled = BillingModel_BILLING_UNSPECIFIED

// table lists the types in the order of the API's texts.
var table = [...]Kind{
	{Type_IMPRESSION, "impression", Anyone, "impression", Type_IMPRESSION, "impressions", BillingModel_CPM},
	{Type_VIEWABLE, "viewable", Anyone, "viewable", Type_IMPRESSION, "viewable", BillingModel_VCPM},
	{Type_CLICK, "click", Anyone, "click", Type_CLICK, "clicks", BillingModel_CPC},
	{Type_CLOSE, "close", Anyone, "playback", Type_CLICK, "closes", unbilled},
	{Type_SKIP, "skip", Anyone, "playback", Type_CLICK, "skips", unbilled},
	{Type_VIDEO_COMPLETE, "video_complete", Anyone, "playback", Type_CLICK, "video_completes", unbilled},
	{Type_CONVERSION, "conversion", Advertiser, "converted", Type_CONVERSION, "conversions", BillingModel_CPA},
}

// Types is the size of an array indexed by [Type]. The numbers of the types are 1 to Types-1.
const Types = len(table) + 1

var (
	kinds  [Types]Kind
	byName = make(map[string]Type, len(table))
	models = make(map[string]BillingModel, len(BillingModel_name))

	modelNames = make(map[BillingModel]string, len(BillingModel_name))
)

func init() {
	for _, k := range table {
		kinds[k.Type], byName[k.Name] = k, k.Type
	}
	for number, name := range BillingModel_name {
		model := BillingModel(number)
		if modelNames[model] = ""; model != unbilled {
			modelNames[model] = strings.ToLower(name)
		}
		models[modelNames[model]] = model
	}
}

// Kinds returns the rows of the table, which must not be changed.
func Kinds() []Kind { return table[:] }

// Kind returns the row of x; the zero row for an unknown number.
func (x Type) Kind() *Kind {
	if x < 0 || int(x) >= Types {
		x = Type_TYPE_UNSPECIFIED
	}
	return &kinds[x]
}

// Name returns the name of x in the API; empty for an unknown number.
func (x Type) Name() string { return x.Kind().Name }

// TypeOf returns the type with a name of the API.
func TypeOf(name string) (Type, bool) {
	x, ok := byName[name]
	return x, ok
}

// Join returns the text of each row of the table, separated by commas.
func Join(text func(k *Kind) string) string {
	texts := make([]string, len(table))
	for i := range table {
		texts[i] = text(&table[i])
	}
	return strings.Join(texts, ", ")
}

// TypeNames lists the names of the API as a text: "impression, viewable, … or conversion".
func TypeNames() string {
	names := Join(func(k *Kind) string { return k.Name })
	last := strings.LastIndex(names, ", ")
	return names[:last] + " or " + names[last+len(", "):]
}

// Name returns the name of x in the API, which is empty without a model. It reports false for an
// unknown number.
func (x BillingModel) Name() (string, bool) {
	name, ok := modelNames[x]
	return name, ok
}

// ModelOf returns the billing model with a name of the API; BILLING_UNSPECIFIED for an unknown one.
func ModelOf(name string) BillingModel { return models[name] }
