package traffic

import (
	"fmt"
	"maps"
	"slices"

	"adnet/internal/day"
	"adnet/internal/traffic/odds"
)

// Anomalies judges the publishers of one owner, each alone and all of them together: traffic spread
// over many seats stays below every minimum of one. days holds their days, by publisher. If a sum
// breaks a rule, its cases are the publishers whose own day is over the threshold, however small,
// so that an exchange is not held responsible for another one of the same operator. The same rules
// also apply to the sum of these alone: honest traffic of the owner does not dilute it. It is pure.
func (r QuarantineRules) Anomalies(date day.Day, days []PublisherDay) []Evidence {
	members := split(date, days)
	sums := r.together(members)
	var found []Evidence
	for _, m := range members {
		if e, ok := r.Anomaly(m.today, m.before); ok {
			found = append(found, e)
			continue
		}
		for i, g := range r.gauges(m.today, m.before) {
			if e := sums[i]; e.Rule != "" && g.over() {
				e.Today = m.today
				found = append(found, e)
				break
			}
		}
	}
	return found
}

// member is one publisher of an owner, or a sum of several.
type member struct {
	today    PublisherDay
	before   []PublisherDay
	showRate odds.Rate // of FewShown only: the shown ads of the sold ones
}

func split(date day.Day, days []PublisherDay) (members []member) {
	for _, d := range days {
		n := len(members) - 1
		if n < 0 || members[n].today.DeveloperID != d.DeveloperID {
			members = append(
				members, member{today: PublisherDay{DeveloperID: d.DeveloperID, OwnerID: d.OwnerID, Day: date}},
			)
			n++
		}
		if d.Day == date {
			members[n].today = d
		} else {
			members[n].before = append(members[n].before, d)
		}
	}
	return members
}

// together returns the finding of each rule in the sum of the members, or in the sum of those over
// its threshold; no rule if it finds nothing.
func (r QuarantineRules) together(members []member) (found [3]Evidence) {
	for i := range found {
		var over []member
		for _, m := range members {
			if r.gauges(m.today, m.before)[i].over() {
				over = append(over, m)
			}
		}
		for _, of := range [...][]member{members, over} {
			all := sum(of)
			g := r.gauges(all.today, all.before)[i]
			all.today.withoutBrowser()
			if len(of) > 1 && r.strikes(g) {
				found[i] = Evidence{Rule: g.rule, Value: g.value, Threshold: g.threshold, Note: fmt.Sprintf(
					"the sum of %d publishers of one family: impressions %d, clicks %d, invalid %d, redeemed %d, "+
						"minted %d",
					len(of), all.today.Impressions, all.today.Clicks, all.today.Invalid, all.today.Redeemed,
					all.today.Minted)}
				break
			}
		}
	}
	return found
}

// sum counts each day once, so that one day of each of seven members is not a week.
func sum(members []member) (all member) {
	byDay := make(map[day.Day]PublisherDay)
	for _, m := range members {
		all.today.Day = m.today.Day
		all.today.Add(m.today)
		for _, d := range m.before {
			date := byDay[d.Day]
			date.Day = d.Day
			date.Add(d)
			byDay[d.Day] = date
		}
	}
	all.before = slices.Collect(maps.Values(byDay))
	return all
}
