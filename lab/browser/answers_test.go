package browser_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// Each question is one screen whose address holds it, with the period, the one before and the filter.
func TestAnswers(t *testing.T) {
	w := shared
	for _, c := range []struct {
		as, question string
		address      string // what the address says then
		row          string // a row of the table, if traffic answers the question
	}{
		{"admin", "spend", "by=advertiser&second=day", "[data-second]"},
		{"admin", "ctr", "by=language", "[data-key]"},
		{"admin", "terms", "by=term", ""},
		{"admin", "fill", "about=network&by=publisher", "[data-key]"},
		{"admin", "nofill", "by=reason&second=day", "[data-second]"},
		{"publisher", "advertisers", "about=places&by=advertiser", ""},
	} {
		tab := w.tab(t, c.as, desk)
		require.NoError(t, tab.Open(w.base+"/console/answers"))
		require.NoError(t, tab.Do(chromedp.Click(fmt.Sprintf("[data-question=%s]", c.question), chromedp.ByQuery)))
		for parameter := range strings.SplitSeq(c.address, "&") {
			require.NoError(t, tab.Await(fmt.Sprintf(`location.search.includes(%q)`, parameter)))
		}
		require.NoError(t, tab.Await(`!!document.querySelector('[data-figure]')`))
		if c.row != "" {
			require.NoError(t, tab.Await(`!!document.querySelector('[data-table=answers] tbody tr`+c.row+`')`))
		}
		for _, v := range []browser.View{desk, phone} {
			w.examine(t, tab, v)
			shoot(t, tab, fmt.Sprintf("%s-%s-%d", c.as, c.question, v.Width))
		}
		require.Empty(t, tab.Problems())
	}
}

// The chart has two measures, each with the period before; a filter and a period are in the address.
func TestAnswersCompare(t *testing.T) {
	w := shared
	tab := w.tab(t, "admin", desk)
	require.NoError(t, tab.Open(w.base+"/console/answers?by=campaign&compare=1&period=7"))
	require.NoError(t, tab.Await(`!!document.querySelector('[data-table=answers] tbody tr')`))
	write(t, tab, "select[name=measure2]", "clicks")
	require.NoError(t, tab.Do(chromedp.Click(".chart figcaption button", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`document.querySelectorAll('.chart thead th').length == 5`))
	require.NoError(t, tab.Await(`document.querySelectorAll('.chart tbody tr').length == 7`))
	require.NoError(t, tab.Do(chromedp.Click(".chart figcaption button", chromedp.ByQuery)))
	require.NoError(t, tab.Await(`!!document.querySelector('.chart canvas')`))
	shoot(t, tab, "compare")
	write(t, tab, "select[name=period]", "days")
	require.NoError(t, tab.Await(`location.search.includes('since=') && !!document.querySelector('[name=until]')`))
	require.NoError(t, tab.Open(w.base+"/console/answers?by=campaign&filter=no-such-name"))
	require.NoError(t, tab.Await(`!!document.querySelector('.card [data-state=empty]')`))
	require.Empty(t, tab.Problems())
}

// shoot saves a picture if ANSWERS_PICTURES names a folder.
func shoot(t *testing.T, tab *browser.Tab, name string) {
	t.Helper()
	folder := os.Getenv("ANSWERS_PICTURES")
	if folder == "" {
		return
	}
	var picture []byte
	require.NoError(t, tab.Do(chromedp.CaptureScreenshot(&picture)))
	require.NoError(t, os.WriteFile(folder+"/"+name+".png", picture, 0o644))
}
