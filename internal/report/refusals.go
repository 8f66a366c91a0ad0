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
	Unsuitable = "unsuitable" // a subject that excludes ads
	Sensitive  = "sensitive"  // a subject that publisher and campaign must allow
)

// FewestRefusals is the smallest disclosed number of refusals of one publisher, tier and day.
const FewestRefusals = 10

// Refusals counts the refused requests of one publisher, tier and day. Below [FewestRefusals] it
// does not hold the number, so that no reply, screen or file can reveal it.
type Refusals struct{ disclosed int64 }

// RefusalsOf stores n if it may be disclosed.
func RefusalsOf(n int64) Refusals {
	if n < FewestRefusals {
		return Refusals{}
	}
	return Refusals{n}
}

// Disclosed returns the number; ok is false where it may not be disclosed.
func (r Refusals) Disclosed() (n int64, ok bool) { return r.disclosed, r.disclosed > 0 }

// most returns the largest number that r may stand for.
func (r Refusals) most() int64 { return max(r.disclosed, FewestRefusals-1) }

// String returns the number, or "<10".
func (r Refusals) String() string { return atLeast(r.disclosed, FewestRefusals) }

// MarshalJSON implements json.Marshaler: a number, or the text "<10".
func (r Refusals) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonValue(r.disclosed, r.String()))
}

// RefusalSum sums the refusals of several days of one tier over the disclosed days, and counts the
// other days. A sum of all would reveal them by subtraction.
type RefusalSum struct {
	Requests int64 `json:"requests"`
	Hidden   int   `json:"days_below_10"`
}

// Add adds a day.
func (s *RefusalSum) Add(r Refusals) {
	if n, ok := r.Disclosed(); ok {
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
	// Requests counts the accepted requests, and Adults those of them with `age: adult`. Totals
	// including the refused ones would reveal their number by subtraction.
	Requests, Adults int64
	Never, Sensitive Refusals
}

// Refused is the reason for refused requests.
type Refused struct {
	Reason  string `json:"reason"`
	Subject string `json:"subject"` // empty: an earlier turn of the session was refused
}

// RefusedPlaces counts the requests of some placements refused for one reason.
type RefusedPlaces struct {
	Refused
	Requests Hundreds `json:"requests"`
}

// RefusedCounted describes the sums of [RefusedPlaces].
const RefusedCounted = "requests that were refused because of their conversation at the places that the campaign " +
	"targets: apps, surfaces, ways of integration and languages; " +
	"neither region nor words are recorded of a refusal, so these narrow nothing; in whole hundreds, each request " +
	"under one subject"

// RefusedPlacesOf lists the sums of counts that may be disclosed, the largest first.
func RefusedPlacesOf(counts map[Refused]int64) []RefusedPlaces {
	list := []RefusedPlaces{}
	for why, n := range counts {
		if sum := HundredsOf(n); sum.disclosed > 0 {
			list = append(list, RefusedPlaces{why, sum})
		}
	}
	slices.SortFunc(list, func(a, b RefusedPlaces) int {
		return cmp.Or(
			cmp.Compare(b.Requests.disclosed, a.Requests.disclosed), cmp.Compare(b.Reason, a.Reason),
			cmp.Compare(a.Subject, b.Subject),
		)
	})
	return list
}

// Hundreds is a sum of refused requests in whole hundreds. It does not hold the remainder.
type Hundreds struct{ disclosed int64 }

// HundredsOf returns the whole hundreds of n.
func HundredsOf(n int64) Hundreds { return Hundreds{max(n, 0) / 100 * 100} }

// Disclosed returns the hundreds; ok is false below 100.
func (h Hundreds) Disclosed() (n int64, ok bool) { return h.disclosed, h.disclosed > 0 }

// String returns the number, or "<100".
func (h Hundreds) String() string { return atLeast(h.disclosed, 100) }

// MarshalJSON implements json.Marshaler: a number, or the text "<100".
func (h Hundreds) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonValue(h.disclosed, h.String()))
}

func atLeast(disclosed, least int64) string {
	if disclosed == 0 {
		return "<" + strconv.FormatInt(least, 10)
	}
	return strconv.FormatInt(disclosed, 10)
}

func jsonValue(disclosed int64, text string) any {
	if disclosed == 0 {
		return text
	}
	return disclosed
}

// SubjectCost counts a publisher's requests lost to a sensitive subject, each counted for its first
// sensitive subject.
type SubjectCost struct{ Week, Month Hundreds }

// The days of [SubjectCost], the last one included.
const (
	CostWeek  = 7
	CostMonth = 30
)

// NeverRate is the recent and the earlier rate of a publisher's requests refused as unsuitable.
type NeverRate struct {
	Requests, Never           int64 // recent; Requests includes the refused ones
	UsualRequests, UsualNever int64 // before that
}

// The bounds of a jump.
const (
	jumpTimes  = 4 // times the usual rate
	jumpSigmas = 6 // above the usual rate
	// A publisher without a past is compared with one refusal in a hundred requests.
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
// others, from disclosed numbers only: a day below the disclosed minimum counts with the most it
// may have.
func JumpedDay(days []RefusalDay) bool {
	var rate NeverRate
	for i := range days {
		d := &days[i]
		if i == len(days)-1 {
			n, _ := d.Never.Disclosed()
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
