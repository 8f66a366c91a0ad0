package train

import (
	"slices"
	"strings"

	"adnet/auction/index"
)

// audiences records which campaigns may compete: campaigns without a common target language are
// never shown to the same reader, so a click on one proves nothing about the other. Campaigns are
// numbered in the order they were added.
type audiences struct {
	of     []int      // by campaign: its list in lists
	lists  [][]string // of languages, each once; an empty one is every language
	number map[string]int
	meets  [][]bool // by the numbers of two lists
}

// mostLists bounds the memory, which grows with its square. Further lists count as every language.
const mostLists = 1000

// add adds the next campaign.
func (a *audiences) add(c *index.Campaign) {
	var list []string
	if c.Targeting != nil {
		for _, language := range c.Targeting.Languages {
			primary, _, _ := strings.Cut(
				strings.ReplaceAll(strings.ToLower(strings.TrimSpace(language)), "_", "-"), "-",
			)
			list = append(list, primary)
		}
	}
	slices.Sort(list)
	a.of = append(a.of, a.list(slices.Compact(list)))
}

// list returns the number of a list.
func (a *audiences) list(list []string) int {
	key := strings.Join(list, ",")
	if number, known := a.number[key]; known {
		return number
	}
	if len(list) > 0 && len(a.lists) >= mostLists {
		return a.list(nil)
	}
	if a.number == nil {
		a.number = map[string]int{}
	}
	number := len(a.lists)
	a.number[key], a.lists = number, append(a.lists, list)
	row := make([]bool, number+1)
	for other, languages := range a.lists {
		row[other] = len(list) == 0 || len(languages) == 0 ||
			slices.ContainsFunc(list, func(l string) bool { return slices.Contains(languages, l) })
	}
	for other := range a.meets {
		a.meets[other] = append(a.meets[other], row[other])
	}
	a.meets = append(a.meets, row)
	return number
}

// meet reports whether two campaigns may be shown to the same reader.
func (a *audiences) meet(first, second uint32) bool { return a.meets[a.of[first]][a.of[second]] }
