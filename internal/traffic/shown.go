package traffic

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic/odds"
)

// ShownAds counts the ads of a publisher's server keys on a UTC day.
type ShownAds struct {
	DeveloperID, OwnerID uuid.UUID // as of a [PublisherDay]
	Method               string    // [MethodREST] or [MethodMCP]
	Sold                 int64     // until an hour ago, so that they could be shown
	Counted              int64     // counted impressions
}

func (a *ShownAds) family() uuid.UUID { return cmp.Or(a.OwnerID, a.DeveloperID) }

// FewShown finds the publishers of families that show far fewer of their sold ads than the other
// families with the same integration method. Bids do not count, because most of them lose, nor do
// the ads of pages, whose keys strangers can use. It is pure.
func (r QuarantineRules) FewShown(date day.Day, ads []ShownAds) (found []Evidence) {
	if !r.Network {
		return nil
	}
	ads = slices.Clone(ads)
	slices.SortFunc(ads, func(a, b ShownAds) int {
		mine, other := a.family(), b.family()
		return cmp.Or(bytes.Compare(mine[:], other[:]), bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]))
	})
	held := make(map[uuid.UUID]bool)
	for _, method := range [...]string{MethodREST, MethodMCP} {
		measured := measure{
			under: QuarantineShown, since: date, note: "ads shown of %.0f sold (" + method + ")",
			least: float64(max(1, r.MinEvents)), rate: func(m *member) odds.Rate { return m.showRate },
		}
		for _, e := range measured.compare(sellers(date, method, ads)) {
			if !held[e.Today.DeveloperID] {
				held[e.Today.DeveloperID] = true
				found = append(found, e)
			}
		}
	}
	return found
}

// sellers returns the families of ads with an integration method. ads is sorted by family.
func sellers(date day.Day, method string, ads []ShownAds) (families [][]member) {
	var last uuid.UUID
	for i := range ads {
		a := &ads[i]
		if a.Method != method || a.Sold <= 0 {
			continue
		}
		if n := len(families); n == 0 || a.family() != last {
			families, last = append(families, nil), a.family()
		}
		n := len(families) - 1
		families[n] = append(families[n], member{
			today:    PublisherDay{DeveloperID: a.DeveloperID, OwnerID: a.OwnerID, Day: date},
			showRate: odds.Rate{Events: float64(min(a.Counted, a.Sold)), Of: float64(a.Sold)},
		})
	}
	return families
}
