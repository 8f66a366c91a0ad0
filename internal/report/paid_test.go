package report

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/schemas/event"
)

func paid(on day.Day, advertiser byte, impressions, lots int64) Paid {
	return Paid{
		Day: on, Advertiser: uuid.UUID{advertiser}, Lots: lots,
		Counts: Counts{Events: Events{event.Type_IMPRESSION: impressions}, Spend: money.Micros(7 * impressions)},
	}
}

func none(uuid.UUID) bool { return false }

// A sum that a publisher may not read stays hidden, and so does a rest from which it would follow.
func TestDisclosed(t *testing.T) {
	for name, tc := range map[string]struct {
		list []Paid
		want []byte
	}{
		"one campaign":                   {[]Paid{paid(1, 1, 5000, 1)}, nil},
		"99 impressions":                 {[]Paid{paid(1, 1, 99, 2)}, nil},
		"enough":                         {[]Paid{paid(1, 1, 100, 2)}, []byte{1}},
		"enough in two days":             {[]Paid{paid(1, 1, 60, 2), paid(2, 1, 60, 2)}, nil},
		"the rest is one campaign":       {[]Paid{paid(1, 1, 100, 2), paid(1, 2, 500, 1)}, nil},
		"the rest is few":                {[]Paid{paid(1, 1, 300, 2), paid(1, 2, 99, 2), paid(1, 3, 200, 2)}, []byte{1}},
		"the rest is enough":             {[]Paid{paid(1, 1, 100, 2), paid(1, 2, 500, 1), paid(1, 3, 20, 1)}, []byte{1}},
		"another day's rest covers none": {[]Paid{paid(1, 1, 100, 2), paid(1, 2, 500, 1), paid(2, 3, 20, 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			for _, p := range Disclosed(tc.list, none) {
				got = append(got, p.Advertiser[0])
			}
			require.Equal(t, tc.want, got)
		})
	}
	mine := func(id uuid.UUID) bool { return id == uuid.UUID{9} }
	got := Disclosed([]Paid{paid(1, 1, 100, 2), paid(1, 2, 500, 1), paid(1, 9, 500, 5)}, mine)
	require.Equal(t, []Paid{paid(1, 9, 500, 5)}, got, "own ads are seen and cover no other")
}

// A comparison of the answers for two periods reveals sums of disclosed days only: the answer for a
// period is that of its days.
func TestPeriodsDiscloseNoMoreThanTheirDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Paid
		byDay := map[day.Day][]Paid{}
		for on := range day.Day(4) {
			for advertiser := range byte(4) {
				p := paid(
					on, advertiser, rapid.SampledFrom([]int64{0, 5, 60, 99, 100, 900}).Draw(t, "impressions"),
					rapid.Int64Range(0, 3).Draw(t, "lots"),
				)
				if p.Impressions() > 0 {
					all, byDay[on] = append(all, p), append(byDay[on], p)
				}
			}
		}
		var days []Paid
		for on := range day.Day(4) {
			seen := Disclosed(byDay[on], none)
			var rest Paid
			for _, p := range byDay[on] {
				rest.Add(p.Counts)
				rest.Lots += p.Lots
			}
			for _, p := range seen {
				require.True(t, p.disclosable())
				rest.sub(&p.Counts)
				rest.Lots -= p.Lots
			}
			if len(seen) > 0 && rest.Counts != (Counts{}) {
				require.True(t, rest.disclosable(), "the rest is a sum that the publisher knows")
			}
			days = append(days, seen...)
		}
		require.Equal(t, days, Disclosed(all, none))
	})
}

// The groups add up to the totals.
func TestPaidGroups(t *testing.T) {
	seen := []Paid{paid(1, 1, 100, 2), paid(2, 1, 300, 2), paid(2, 2, 200, 2)}
	for _, q := range []Query{
		{Breakdown: ByAdvertiser}, {Breakdown: ByAdvertiser, Then: ByDay}, {Breakdown: ByDay, Then: ByAdvertiser},
	} {
		r := Result{Counts: Counts{Events: Events{event.Type_IMPRESSION: 650, event.Type_CLICK: 3}, Spend: 5000}}
		r.PaidGroups(&q, seen)
		var sum Counts
		for _, g := range r.Groups {
			sum.Add(g.Counts)
		}
		require.Equal(t, r.Counts, sum)
		last := r.Groups[len(r.Groups)-1]
		require.Equal(t, OthersKey, last.Key)
		require.EqualValues(t, 50, last.Impressions())
		require.Len(t, r.Groups, map[Breakdown]int{"": 3, ByDay: 4, ByAdvertiser: 4}[q.Then])
	}
}
