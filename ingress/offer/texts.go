package offer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// Requests choose the texts of their placement, and each new text is a new group in the statistics
// of the advertiser whose ad is shown: a row of a table, a word of a dictionary, for years. A
// publisher therefore has mostTexts texts of a kind and day at each node; its requests with a
// browser key, which anyone can copy, have as many of their own. Further texts are recorded as
// [report.OtherKey], or by their registered part. No request is refused for it, and targeting
// compares the texts as they were sent.
//
// Parts of regions and regional forms of languages have codes, but no list of all of them is small.
// There are more in honest traffic than apps.
var mostTexts = [...]int{textSurface: 100, textHost: 100, textRegion: 300, textLanguage: 300}

// mostKnown bounds the memory of a node for all publishers: 64 bytes each.
const mostKnown = 1 << 20

// described is the placement of an ad as records, links and statistics have it.
type described struct{ surface, host, region, language string }

// textKind is a kind of text that is counted.
type textKind uint8

const (
	textSurface textKind = iota
	textHost
	textRegion
	textLanguage
)

// textOwner is whose texts are counted together.
type textOwner struct {
	publisher uuid.UUID
	kind      textKind
	page      bool // with a browser key
}

type knownText struct {
	textOwner
	hash uint64
}

// texts are the texts of a day that were recorded as they are. Its methods may be called from any
// goroutine.
type texts struct {
	seed  maphash.Seed // secret, so no text is made to collide with another
	mu    sync.RWMutex
	date  day.Day
	known map[knownText]struct{}
	count map[textOwner]int
}

func newTexts() *texts { return &texts{seed: maphash.MakeSeed()} }

// admit reports whether to record a text of an owner on a day as it is.
func (t *texts) admit(of textOwner, text string, date day.Day) bool {
	key := knownText{of, maphash.String(t.seed, text)}
	t.mu.RLock()
	_, known := t.known[key]
	known = known && t.date >= date
	t.mu.RUnlock()
	return known || t.add(key, date)
}

func (t *texts) add(key knownText, date day.Day) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || date > t.date { // a request of yesterday that comes late counts for today
		t.date, t.known, t.count = date, make(map[knownText]struct{}), make(map[textOwner]int)
	}
	if _, known := t.known[key]; known {
		return true
	}
	if t.count[key.textOwner] >= mostTexts[key.kind] || len(t.known) >= mostKnown {
		return false
	}
	t.known[key] = struct{}{}
	t.count[key.textOwner]++
	return true
}

// usual are the surfaces that placements name ([Request.surface]). They are recorded without being
// counted.
var usual = []string{"chat", "tool_result", "welcome", "buttons", "card"}

// describe returns the texts of p for records. A region without its part and a language without its
// region are registered subtags, of which there is a bounded number.
func (t *texts) describe(p *Place, at time.Time) (d described) {
	date, of := day.Of(at), textOwner{publisher: p.Developer, page: p.Browser.Asks}
	record := func(kind textKind, text, otherwise string) string {
		if of.kind = kind; text == otherwise || t.admit(of, text, date) {
			return text
		}
		return otherwise
	}
	d.surface, d.host = p.Surface, p.Host
	if d.surface != "" && !slices.Contains(usual, d.surface) {
		d.surface = record(textSurface, d.surface, report.OtherKey)
	}
	if d.host != "" {
		d.host = record(textHost, d.host, report.OtherKey)
	}
	country, _, _ := strings.Cut(p.Region, "-")
	base, _, _ := strings.Cut(p.Language, "-")
	d.region, d.language = record(textRegion, p.Region, country), record(textLanguage, p.Language, base)
	if d.region == "" && p.OtherRegion {
		d.region = report.OtherKey
	}
	if d.language == "" && p.OtherLanguage {
		d.language = report.OtherKey
	}
	return d
}
