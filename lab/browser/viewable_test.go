package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// step is what a reader does so many milliseconds after the step before it: a script of the page,
// or another tab in front of it and away again.
type step struct {
	after int
	do    string
}

const (
	leaves  = "leaves the tab"
	returns = "returns to the tab"
)

// part scrolls until so much of the ad's height is in view, from below.
func part(share float64) string {
	return fmt.Sprintf(`scrollTo({top: ad.offsetTop - innerHeight + %g * ad.offsetHeight, behavior: 'instant'})`, share)
}

const away = `scrollTo({top: 0, behavior: 'instant'})`

// readings are twenty ways to come by an ad.
var readings = []struct {
	name   string
	ad     string // a script before the first step
	steps  []step
	viewed bool
}{
	{"is there at once", "", []step{{0, part(1)}}, true},
	{"never comes", "", nil, false},
	{"sees nearly half", "", []step{{0, part(0.48)}}, false},
	{"sees half", "", []step{{0, part(0.52)}}, true},
	{
		"sees only its lower part", "",
		[]step{{0, `scrollTo({top: ad.offsetTop + 0.4 * ad.offsetHeight, behavior: 'instant'})`}}, true,
	},
	{"goes too soon", "", []step{{0, part(1)}, {850, away}}, false},
	{"goes too soon and comes back", "", []step{{0, part(1)}, {850, away}, {300, part(1)}}, true},
	{
		"comes five times", "",
		[]step{
			{0, part(1)}, {500, away}, {200, part(1)}, {500, away}, {200, part(1)}, {500, away}, {200, part(1)},
			{500, away}, {200, part(1)}, {500, away},
		}, false,
	},
	{"comes slowly", "", []step{{0, part(0.1)}, {300, part(0.3)}, {300, part(0.6)}, {300, part(0.9)}}, true},
	{
		"scrolls past", "",
		[]step{
			{0, part(0.6)}, {300, part(1)},
			{300, `scrollTo({top: ad.offsetTop + ad.offsetHeight + 200, behavior: 'instant'})`},
		}, false,
	},
	{"goes down to a third", "", []step{{0, part(1)}, {600, part(0.33)}}, false},
	{"goes down to six tenths", "", []step{{0, part(1)}, {600, part(0.6)}}, true},
	{"sees a third of a large one", "ad.style.cssText = 'width:970px;height:260px'", []step{{0, part(0.33)}}, true},
	{"sees a quarter of a large one", "ad.style.cssText = 'width:970px;height:260px'", []step{{0, part(0.27)}}, false},
	{
		"sees a third of one that is not large", "ad.style.cssText = 'width:930px;height:260px'",
		[]step{{0, part(0.33)}}, false,
	},
	{"is elsewhere", "", []step{{0, leaves}, {200, part(1)}}, false},
	{"leaves and returns", "", []step{{0, part(1)}, {500, leaves}, {700, returns}}, true},
	{"leaves for good", "", []step{{0, part(1)}, {500, leaves}}, false},
	{"leaves twice", "", []step{{0, part(1)}, {400, leaves}, {300, returns}, {400, leaves}, {300, returns}}, true},
	{"returns to another place", "", []step{{0, part(1)}, {500, leaves}, {100, away}, {400, returns}}, false},
}

// viewabilityPage is an ad far below the fold.
func viewabilityPage(t *testing.T) (f *fake, tab *browser.Tab) {
	t.Helper()
	f = newFake(t, filled(nil))
	lines := strings.Repeat("<br>", 150)
	origin := site(t, func(string) string { return lines + element(f.base(), "pk_live_x", "") + lines }, strict(f.URL))
	tab = shared.reader(t, origin+"/")
	require.NoError(t, tab.Await(`seen.events.includes('filled')`))
	require.NoError(
		t,
		tab.Do(
			chromedp.Evaluate(`window.ad = document.querySelector('adnet-ad');0`, nil),
			chromedp.Sleep(100*time.Millisecond),
		),
	)
	require.Empty(t, f.reports())
	return f, tab
}

// The element says that an ad was viewed when an observer of the page says so, give or take 50 ms,
// and only then.
func TestViewable(t *testing.T) {
	for _, r := range readings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			f, tab := viewabilityPage(t)
			require.NoError(t, tab.Do(chromedp.Evaluate(r.ad+`;0`, nil)))
			var uncover func() error
			for _, s := range r.steps {
				time.Sleep(time.Duration(s.after) * time.Millisecond)
				var err error
				switch s.do {
				case leaves:
					uncover, err = tab.Cover()
				case returns:
					err = uncover()
				default:
					err = tab.Do(chromedp.Evaluate(s.do, nil))
				}
				require.NoError(t, err)
			}
			time.Sleep(1500 * time.Millisecond)
			n := noted(t, tab)
			require.Empty(t, n.Errors)
			require.Equal(t, r.viewed, len(n.Reference) > 0, "the observer")
			if !r.viewed {
				require.Empty(t, n.Viewed)
				require.NotContains(t, f.reports(), "viewable")
				return
			}
			require.Len(t, n.Viewed, 1)
			require.InDelta(t, n.Reference[0], n.Viewed[0], 50)
			f.hears(t, "impression", "viewable")
		})
	}
}

// What a page hides by its styles was in no reader's view, whatever an observer says; shown, it is.
func TestHiddenAdsAreNotSeen(t *testing.T) {
	for name, c := range map[string]struct{ hide, show string }{
		"invisible":   {"ad.style.visibility = 'hidden'", "ad.style.visibility = ''"},
		"transparent": {"ad.style.opacity = 0", "ad.style.opacity = 1"},
		"in what is transparent": {
			"document.querySelector('main').style.opacity = 0", "document.querySelector('main').style.opacity = 1",
		},
		"not displayed": {"ad.style.display = 'none'", "ad.style.display = ''"},
		"in what is not displayed": {
			"document.querySelector('main').style.display = 'none'",
			"document.querySelector('main').style.display = ''",
		},
		"behind the edge of its box": {
			"document.querySelector('main').style.cssText = 'overflow:hidden;height:0'",
			"document.querySelector('main').style.cssText = ''",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, tab := viewabilityPage(t)
			require.NoError(
				t, tab.Do(chromedp.Evaluate(c.hide+`; `+part(1), nil), chromedp.Sleep(1500*time.Millisecond)),
			)
			require.Empty(t, f.reports())
			require.Empty(t, noted(t, tab).Viewed)
			require.NoError(t, tab.Do(chromedp.Evaluate(c.show+`; `+part(1), nil)))
			require.NoError(t, tab.Await(`seen.viewed.length === 1`))
			f.hears(t, "impression", "viewable")
		})
	}
}
