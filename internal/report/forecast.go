package report

import (
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// The bounds of a forecast. No advertiser may learn another's bid: prices are shown as steps, and
// only where enough advertisers compete and none of them dominates the market.
const (
	ForecastDays     = 28
	fewestRequests   = 100
	fewestRivals     = 5  // advertisers besides the caller
	fewestOfRival    = 10 // won auctions from which an advertiser counts as a rival
	largestOfMarket  = 0.5
	forecastPrecious = 2 // significant digits of a number
)

// PriceSteps are the steps to which prices of forecasts are rounded up, in micro-USD of 1,000
// impressions: 1, 2 and 5 cents, and so on up to 1,000 USD.
var PriceSteps = func() (steps []money.Micros) {
	for unit := money.USD / 100; unit <= 1000*money.USD; unit *= 10 {
		steps = append(steps, unit, 2*unit, 5*unit)
	}
	return steps
}()

// Step returns the index of the first of [PriceSteps] that is not below a price.
func Step(price money.Micros) int {
	at := slices.IndexFunc(PriceSteps, func(s money.Micros) bool { return s >= price })
	if at < 0 {
		return len(PriceSteps) - 1
	}
	return at
}

// Places selects the requests of a forecast by targeting; an empty list selects all.
type Places struct {
	Since, Until                                    day.Day // both included
	HostApps, Surfaces, Methods, Regions, Languages []string
}

// Covers reports whether a request's value is in list, or below a listed one: US-CA below US.
// Values are compared as targeting compares them.
func Covers(list []string, value string) bool {
	if len(list) == 0 {
		return true
	}
	value = Place(value)
	return slices.ContainsFunc(list, func(entry string) bool {
		entry = Place(entry)
		return entry != "" && (entry == value || strings.HasPrefix(value, entry+"-"))
	})
}

// Place returns the normalized value for comparisons.
func Place(value string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(value)), "_", "-")
}

// Won counts the requests that an advertiser won at prices of one step.
type Won struct {
	Advertiser uuid.UUID // nil: none
	Step       int       // of the effective CPM, see [PriceSteps]
	Requests   int64
}

// Forecast is a campaign's expected reach. Numbers have two digits.
type Forecast struct {
	Requests int64 // per day, allowed by the lists of the targeting
	// Prices holds the steps under which a quarter, half and three quarters of the filled requests
	// were sold; nil where they would reveal a single account.
	Prices []money.Micros
	// Share of the requests that a bid would have won, from 0 to 1; negative where it would reveal
	// a single account.
	Share float64
}

// ForecastOf returns the forecast for caller, bidding effectiveCPM, from the wins of days days.
func ForecastOf(caller uuid.UUID, effectiveCPM money.Micros, won []Won, days int64) Forecast {
	requests := int64(0)
	rivals := map[uuid.UUID]int64{}
	steps := make([]int64, len(PriceSteps))
	unfilled := int64(0)
	for _, w := range won {
		requests += w.Requests
		switch w.Advertiser {
		case uuid.Nil, caller: // the caller would win its own again
			unfilled += w.Requests
		default:
			rivals[w.Advertiser] += w.Requests
			steps[min(max(w.Step, 0), len(steps)-1)] += w.Requests
		}
	}
	if requests < fewestRequests {
		return Forecast{Share: -1}
	}
	f := Forecast{Requests: rounded(requests / max(days, 1)), Share: -1}
	sold, count, most := int64(0), 0, int64(0)
	for _, n := range rivals {
		sold, most = sold+n, max(most, n)
		if n >= fewestOfRival {
			count++
		}
	}
	if count < fewestRivals || float64(most) > largestOfMarket*float64(sold) {
		return f
	}
	for _, part := range []float64{0.25, 0.5, 0.75} {
		below := int64(0)
		for i, n := range steps {
			if below += n; float64(below) >= part*float64(sold) {
				f.Prices = append(f.Prices, PriceSteps[i])
				break
			}
		}
	}
	// The bid is rounded to a step as well: otherwise two queries would reveal a rival's bid to the
	// cent.
	gained := unfilled
	for i, n := range steps {
		if PriceSteps[i] <= effectiveCPM {
			gained += n
		}
	}
	f.Share = math.Round(100*float64(gained)/float64(requests)) / 100
	return f
}

// rounded returns n with two significant digits.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= int64(math.Pow10(forecastPrecious)) {
		unit *= 10
	}
	return n / unit * unit
}
