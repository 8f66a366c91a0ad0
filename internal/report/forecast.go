package report

import (
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// The bounds of a forecast. Nobody may learn the bid of another: prices are shown as steps, and
// only where enough advertisers compete and none of them is most of the market.
const (
	ForecastDays     = 28
	fewestRequests   = 100
	fewestRivals     = 5  // advertisers besides the caller
	fewestOfRival    = 10 // auctions that one must have won to count as one
	largestOfMarket  = 0.5
	forecastPrecious = 2 // digits of a number
)

// PriceSteps are what prices of forecasts are rounded up to, in micro-USD of 1,000 impressions: 1,
// 2 and 5 cents, and so on up to 1,000 USD.
var PriceSteps = func() (steps []money.Micros) {
	for unit := money.USD / 100; unit <= 1000*money.USD; unit *= 10 {
		steps = append(steps, unit, 2*unit, 5*unit)
	}
	return steps
}()

// Step is the index of the first of [PriceSteps] that is not below a price.
func Step(price money.Micros) int {
	at := slices.IndexFunc(PriceSteps, func(s money.Micros) bool { return s >= price })
	if at < 0 {
		return len(PriceSteps) - 1
	}
	return at
}

// Places select the requests of a forecast by what targeting says; an empty list selects all.
type Places struct {
	Since, Until                                    day.Day // both included
	HostApps, Surfaces, Methods, Regions, Languages []string
}

// Covers says whether a request's value is one of list, or below one: US-CA below US. Values are
// compared as targeting compares them.
func Covers(list []string, value string) bool {
	if len(list) == 0 {
		return true
	}
	value = Place(value)
	return slices.ContainsFunc(list, func(one string) bool {
		one = Place(one)
		return one != "" && (one == value || strings.HasPrefix(value, one+"-"))
	})
}

// Place is a value as it is compared.
func Place(value string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(value)), "_", "-")
}

// Won is how many requests an advertiser won at prices of one step.
type Won struct {
	Advertiser uuid.UUID // nil: none
	Step       int       // of the effective CPM, see [PriceSteps]
	Requests   int64
}

// Forecast is what a campaign may reach. Numbers have two digits.
type Forecast struct {
	Requests int64 // a day, that the lists of the targeting allow
	// Prices are the steps under which a quarter, half and three quarters of the filled requests
	// were sold; nil where they would tell of a single account.
	Prices []money.Micros
	// Share of the requests that a bid would have won, from 0 to 1; negative where it would tell of
	// a single account.
	Share float64
}

// ForecastOf is the forecast for caller, who bids effectiveCPM, from what was won in days days.
func ForecastOf(caller uuid.UUID, effectiveCPM money.Micros, won []Won, days int64) Forecast {
	requests := int64(0)
	rivals := map[uuid.UUID]int64{}
	steps := make([]int64, len(PriceSteps))
	unfilled := int64(0)
	for _, w := range won {
		requests += w.Requests
		switch w.Advertiser {
		case uuid.Nil, caller: // what is the caller's own it would win again
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
	// A bid is compared by steps, too, else two questions would tell a rival's bid to the cent.
	gained := unfilled
	for i, n := range steps {
		if PriceSteps[i] <= effectiveCPM {
			gained += n
		}
	}
	f.Share = math.Round(100*float64(gained)/float64(requests)) / 100
	return f
}

// rounded keeps two digits of n.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= int64(math.Pow10(forecastPrecious)) {
		unit *= 10
	}
	return n / unit * unit
}
