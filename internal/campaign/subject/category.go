package subject

import "strings"

// taxonomy is a version of the IAB's Content Taxonomy.
type taxonomy struct {
	subjects map[string]Set    // of the categories that [All] lists
	above    map[string]string // a category → its parent
	all      map[string]Set    // categories of several subjects: the union of all below
}

// The versions, grouped by common ids. In Content Taxonomy 1.0 an id includes its parent.
var (
	content1 = newTaxonomy(func(c *Codes) []string { return c.V1 })
	content2 = newTaxonomy(func(c *Codes) []string { return c.V2 }, commonBelow...)
	content3 = newTaxonomy(func(c *Codes) []string { return c.V3 }, commonBelow...)
)

// span is the range of categories from First to Last, which are all below Above.
type span struct {
	Above       string
	First, Last int
}

// commonBelow lists categories of Content Taxonomy 2.x and 3.x below one of [All] that share its
// subject: diseases, treatments, faiths, elections.
var commonBelow = []span{{"286", 287, 323}, {"386", 387, 388}, {"453", 454, 463}}

// ordinary lists categories below one of [All] that do not share its subject.
var ordinary = map[string]bool{
	"IAB7-1": true, "IAB7-32": true, // exercise, nutrition
	"IAB11-3": true, // resources of the government
	"305":     true, // pregnancy
}

// sensitive lists the categories of Sensitive Topics that belong to a subject.
var sensitive = []string{"Rm3SiT", "avbNf2", "XtODT3", "I4GWl6", "Z7rJBM", "HxqYV1", "pg0WhF", "8FD8nI"}

// whole lists categories that stand for all below them and have no subject of their own:
// non-standard content, and content that is sensitive in one of several ways.
var whole = map[string][]string{
	"IAB25":  {"IAB25-2", "IAB25-3", "IAB25-5"},
	"v9i3On": sensitive,
	"bsr001": sensitive, // the floor of brand safety
}

func newTaxonomy(codes func(*Codes) []string, below ...span) taxonomy {
	t := taxonomy{subjects: map[string]Set{}, above: map[string]string{}, all: map[string]Set{}}
	for i := range All {
		for _, code := range codes(&All[i].Content) {
			t.subjects[code] |= SetOf(All[i].ID)
		}
	}
	for _, s := range below {
		for n := s.First; n <= s.Last; n++ {
			t.above[decimal(n)] = s.Above
		}
	}
	for code, members := range whole {
		for _, member := range members {
			t.all[code] |= t.subjects[member]
		}
	}
	return t
}

func decimal(n int) string {
	return string([]byte{byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)}) // all have three digits
}

// of returns the subjects of a category: its own, or those of the nearest parent.
func (t *taxonomy) of(code, above string) Set {
	switch set := t.subjects[code] | t.all[code]; {
	case set != 0:
		return set
	case ordinary[code]:
		return 0
	}
	return t.subjects[above]
}

// OfCategory returns the subjects of a category of a taxonomy, by its number in the list of
// category taxonomies (AdCOM): Content Taxonomy 1.0 (1, and 0 for none), 2.0, 2.1 and 2.2 (2, 5 and
// 6), 3.0 and 3.1 (7 and 9). Some senders state a newer one and send ids of 1.0, which no other
// has. The set is empty for an ordinary category and one of another taxonomy.
func OfCategory(cattax int, code string) Set {
	code = strings.TrimSpace(code)
	switch cattax {
	case 2, 5, 6, 7, 9:
		if len(code) > 3 && strings.EqualFold(code[:3], "IAB") {
			cattax = 1
		}
	}
	switch cattax {
	case 0, 1:
		code = strings.ToUpper(code)
		above, _, below := strings.Cut(code, "-")
		if !below {
			above = ""
		}
		return content1.of(code, above)
	case 2, 5, 6:
		return content2.of(code, content2.above[code])
	case 7, 9:
		return content3.of(code, content3.above[code])
	}
	return 0
}
