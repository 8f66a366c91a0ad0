package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// The reasons of auctions that did not take place because of their conversation.
const (
	Unsuitable = "unsuitable" // a subject beside which no ad is ever shown
	Sensitive  = "sensitive"  // a subject that publisher and campaign have to allow
)

// FewestRefusals is the least number of refusals of one publisher, tier and day that is told.
const FewestRefusals = 10

// Refusals is how many requests of one publisher, tier and day were refused. Where they are fewer
// than [FewestRefusals] it does not hold the number, so that no reply, screen or file can tell it.
type Refusals struct{ told int64 }

// RefusalsOf keeps n where it may be told.
func RefusalsOf(n int64) Refusals {
	if n < FewestRefusals {
		return Refusals{}
	}
	return Refusals{n}
}

// Told returns the number; ok is false where it may not be told.
func (r Refusals) Told() (n int64, ok bool) { return r.told, r.told > 0 }

// most is the largest number that r may be of.
func (r Refusals) most() int64 { return max(r.told, FewestRefusals-1) }

// String is the number, or "<10".
func (r Refusals) String() string { return atLeast(r.told, FewestRefusals) }

// MarshalJSON implements json.Marshaler: a number, or the text "<10".
func (r Refusals) MarshalJSON() ([]byte, error) { return json.Marshal(shown(r.told, r.String())) }

// RefusalSum is the refusals of several days of one tier: of the days that may be told, and how
// many others there are. A sum of all would tell them by subtraction.
type RefusalSum struct {
	Requests int64 `json:"requests"`
	Hidden   int   `json:"days_below_10"`
}

// Add adds a day.
func (s *RefusalSum) Add(r Refusals) {
	if n, ok := r.Told(); ok {
		s.Requests += n
		return
	}
	s.Hidden++
}

// RefusalQuery selects the requests of one publisher, or All, from day to day, both included.
type RefusalQuery struct {
	DeveloperID  uuid.UUID
	All          bool
	Since, Until day.Day
}

// RefusalDay is a publisher's UTC day, without sandbox keys.
type RefusalDay struct {
	DeveloperID uuid.UUID
	Day         day.Day
	// Requests are those that were not refused, and Adults those among them that said `age: adult`.
	// With the refused ones in them, they would tell by subtraction how many there were.
	Requests, Adults int64
	Never, Sensitive Refusals
}

// Refused is why requests were refused.
type Refused struct {
	Reason  string `json:"reason"`
	Subject string `json:"subject"` // empty: an earlier turn of the session was refused
}

// RefusedPlaces is how many requests of some places were refused for one reason.
type RefusedPlaces struct {
	Refused
	Requests Hundreds `json:"requests"`
}

// RefusedCounted is what sums of [RefusedPlaces] are of.
const RefusedCounted = "requests that were refused because of their conversation at the places that the campaign " +
	"targets: apps, surfaces, ways of integration and languages; " +
	"neither region nor words are recorded of a refusal, so these narrow nothing; in whole hundreds, each request " +
	"under one subject"

// RefusedPlacesOf lists the sums of counts that may be told, the largest first.
func RefusedPlacesOf(counts map[Refused]int64) []RefusedPlaces {
	list := []RefusedPlaces{}
	for why, n := range counts {
		if sum := HundredsOf(n); sum.told > 0 {
			list = append(list, RefusedPlaces{why, sum})
		}
	}
	slices.SortFunc(list, func(a, b RefusedPlaces) int {
		return cmp.Or(
			cmp.Compare(b.Requests.told, a.Requests.told), cmp.Compare(b.Reason, a.Reason),
			cmp.Compare(a.Subject, b.Subject),
		)
	})
	return list
}

// Hundreds is a sum of refused requests, in whole hundreds. It does not hold what is below.
type Hundreds struct{ told int64 }

// HundredsOf keeps the whole hundreds of n.
func HundredsOf(n int64) Hundreds { return Hundreds{max(n, 0) / 100 * 100} }

// Told returns the hundreds; ok is false below 100.
func (h Hundreds) Told() (n int64, ok bool) { return h.told, h.told > 0 }

// String is the number, or "<100".
func (h Hundreds) String() string { return atLeast(h.told, 100) }

// MarshalJSON implements json.Marshaler: a number, or the text "<100".
func (h Hundreds) MarshalJSON() ([]byte, error) { return json.Marshal(shown(h.told, h.String())) }

func atLeast(told, least int64) string {
	if told == 0 {
		return "<" + strconv.FormatInt(least, 10)
	}
	return strconv.FormatInt(told, 10)
}

func shown(told int64, text string) any {
	if told == 0 {
		return text
	}
	return told
}

// SubjectCost is how many requests of a publisher a sensitive subject took, each counted for the
// first sensitive subject that it was about.
type SubjectCost struct{ Week, Month Hundreds }

// The days of [SubjectCost], the last one included.
const (
	CostWeek  = 7
	CostMonth = 30
)

// NeverRate is how often a publisher's requests were refused as unsuitable lately and before.
type NeverRate struct {
	Requests, Never           int64 // lately; Requests counts the refused ones, too
	UsualRequests, UsualNever int64 // before that
}

// The bounds of a jump.
const (
	jumpTimes  = 4 // what is usual
	jumpSigmas = 6 // above what is usual
	// A publisher without a past is held against one refusal in a hundred requests.
	jumpPrior = 100
)

// Jumped reports whether the rate is so far above the usual one that chance does not explain it:
// more than four times, and six standard deviations above.
func (n *NeverRate) Jumped() bool {
	if n.Never < FewestRefusals {
		return false
	}
	usual := float64(n.UsualNever+1) / float64(n.UsualRequests+jumpPrior)
	expected := usual * float64(n.Requests)
	return float64(n.Never) > jumpTimes*expected && float64(n.Never) > expected+jumpSigmas*math.Sqrt(expected)
}

// JumpedDay reports whether the never rate of a publisher's last day jumped over that of the
// others, by what may be told: a day with fewer refusals than are told counts with the most it may
// have.
func JumpedDay(days []RefusalDay) bool {
	var rate NeverRate
	for i := range days {
		d := &days[i]
		if i == len(days)-1 {
			n, _ := d.Never.Told()
			rate.Requests, rate.Never = d.Requests+n, n
			continue
		}
		if d.Requests == 0 && d.Never == (Refusals{}) {
			continue
		}
		rate.UsualRequests += d.Requests + d.Never.most()
		rate.UsualNever += d.Never.most()
	}
	return rate.Jumped()
}
