package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// drawn returns the frame that the page has now, not one that it had before.
func drawn(t *testing.T, tab *browser.Tab) *browser.Tab {
	t.Helper()
	var address string
	require.NoError(t, tab.Do(chromedp.Evaluate(`document.querySelector('.stage iframe').src`, &address)))
	frame, err := tab.Frame(address)
	require.NoError(t, err)
	return frame
}

// within evaluates an expression in the frame of the page.
func within(t *testing.T, tab *browser.Tab, expression string) {
	t.Helper()
	require.NoError(t, drawn(t, tab).Await(expression), expression)
}

// Every surface of an advertiser's hostile texts: drawn by what draws them for readers, in a frame
// that has no origin; the words are there to be read, nothing runs, nothing is counted, and nothing
// is asked of another server.
func TestPreviews(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	token, advertiser := w.login(t, "advertiser")
	hostile := `<img src=x onerror=alert(1)>"><script>`
	create := func(format, media string) (id string) {
		var created struct {
			Campaign struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(w.post(t, token, "/api/campaigns", map[string]any{
			"advertiser_id": advertiser, "headline": hostile, "subtext": hostile, "cta_label": hostile,
			"cta_url": "https://shop.example/?q=%3Cscript%3E", "status": "draft", "format": format,
			"media_url": "https://media.shop.example/" + media,
		}), &created))
		return created.Campaign.ID
	}
	film, picture := create("video", "film.mp4"), create("image", "picture.png")
	shows := map[string]string{
		"card":    `document.querySelector('adnet-ad')?.shadowRoot?.textContent.includes('onerror=alert(1)')`,
		"text":    `document.querySelector('adnet-ad')?.shadowRoot?.textContent.includes('onerror=alert(1)')`,
		"embed":   `document.querySelector('.embed')?.textContent.includes('onerror=alert(1)')`,
		"mcp":     `document.querySelector('.ad h1')?.textContent.includes('onerror=alert(1)')`,
		"300x250": `document.querySelector('main > div')?.offsetWidth === 300 && document.querySelector('main').textContent.includes('onerror=alert(1)')`,
		"728x90":  `document.querySelector('main > div')?.offsetWidth === 728 && document.querySelector('main').textContent.includes('onerror=alert(1)')`,
		"vast":    `document.querySelector('video')?.readyState >= 1`,
	}
	for surface, expression := range shows {
		t.Run(surface, func(t *testing.T) {
			id := picture
			if surface == "vast" {
				id = film
			}
			require.NoError(t, tab.Open(w.base+"/console/campaigns/"+id))
			choose(t, tab, surface)
			page := surface
			if strings.Contains("0123456789", surface[:1]) {
				page = "banner"
			}
			require.NoError(
				t, tab.Await(`document.querySelector('.stage iframe')?.src.endsWith('/console/preview/`+page+`')`),
			)
			frame := drawn(t, tab)
			require.NoError(
				t, frame.Await(`location.pathname.endsWith('/preview/`+page+`') && !!(`+expression+`)`), "%q",
				append(tab.Problems(), frame.Problems()...),
			)
			var seen struct {
				Origin  string
				Loaded  []string
				Ran     int
				Cookies string
			}
			require.NoError(t, frame.Do(chromedp.Evaluate(`(() => { let cookies = ''; try { cookies = document.cookie } catch { cookies = 'none' } return { origin: origin, cookies,
				loaded: performance.getEntriesByType('resource').map((e) => e.name), ran: document.querySelectorAll('img[src=x], main script').length } })()`, &seen)))
			require.Equal(t, "null", seen.Origin)
			require.Equal(t, "none", seen.Cookies, "out of reach")
			require.Zero(t, seen.Ran)
			for _, address := range seen.Loaded {
				require.True(t, strings.HasPrefix(address, w.base+"/"), address)
				require.NotRegexp(t, `^http://[^/]*/(api|s|r|v1)/`, address, "nothing that records is asked")
			}
			require.Empty(t, frame.Problems())
			for _, v := range []browser.View{phone, {Width: desk.Width, Height: desk.Height, Dark: true}, desk} {
				require.NoError(t, tab.Look(v))
				var over int
				require.NoError(
					t,
					tab.Do(chromedp.Evaluate(
						`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over,
					)),
				)
				require.Zero(t, over)
			}
			w.examine(t, tab, desk)
		})
	}
	require.Empty(t, tab.Problems())
	for _, id := range []string{film, picture} {
		var stats struct{ Impressions, Clicks int64 }
		w.get(t, token, "/api/stats?type=campaign&campaign_id="+id, &stats)
		require.Zero(t, stats)
	}
}

// choose selects the surface of a preview once it has been drawn.
func choose(t *testing.T, tab *browser.Tab, surface string) {
	t.Helper()
	require.NoError(t, tab.Await(`!!document.querySelector('.stage iframe')`))
	require.NoError(t, tab.Do(chromedp.Evaluate(
		`(() => { const s = document.querySelector('select[name=surface]'); s.value = '`+surface+
			`'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil,
	)))
}

// A banner's frame has the banner's size, on a phone too. An ad of texts alone shows no picture, and
// the surfaces on which it never runs cannot be chosen and give the reason, in both languages.
func TestPreviewsShowWhatRuns(t *testing.T) {
	w := shared
	token, advertiser := w.login(t, "advertiser")
	create := func(set map[string]any) (id string) {
		var created struct {
			Campaign struct{ ID string }
		}
		fields := map[string]any{
			"advertiser_id": advertiser, "headline": "Chess by post", "cta_url": "https://shop.example/", "status": "draft",
		}
		maps.Copy(fields, set)
		require.NoError(t, json.Unmarshal(w.post(t, token, "/api/campaigns", fields), &created))
		return created.Campaign.ID
	}
	tab := w.tab(t, "advertiser", desk)
	picture := create(map[string]any{"media_url": "https://media.shop.example/p.png"})
	for _, v := range []browser.View{desk, phone} {
		require.NoError(t, tab.Look(v))
		require.NoError(t, tab.Open(w.base+"/console/campaigns/"+picture))
		for _, size := range [][2]int{{300, 250}, {728, 90}, {320, 50}, {300, 600}, {160, 600}} {
			choose(t, tab, fmt.Sprintf("%dx%d", size[0], size[1]))
			require.NoError(t, tab.Await(fmt.Sprintf(
				`(() => { const b = document.querySelector('.stage iframe').getBoundingClientRect(); return b.width === %d && b.height === %d })()`,
				size[0], size[1],
			)))
			within(t, tab, fmt.Sprintf(
				`(() => { const b = document.querySelector('main > div')?.getBoundingClientRect(); return b?.left === 0 && b.top === 0 && b.width === %d && b.height === %d && innerWidth === %d })()`,
				size[0], size[1], size[0],
			))
		}
	}
	require.NoError(t, tab.Look(desk))
	barred := func(lang string) (texts []string) {
		w.speak(t, tab, lang)
		require.NoError(t, tab.Open(w.base+"/console/campaigns/"+create(map[string]any{"billing_event": "viewable"})))
		require.NoError(t, tab.Await(`!!document.querySelector('.stage iframe')`))
		within(t, tab, `!!document.querySelector('adnet-ad')?.shadowRoot?.querySelector('a') && !document.querySelector('adnet-ad').shadowRoot.querySelector('img')`)
		require.NoError(t, tab.Do(chromedp.Evaluate(
			`[...document.querySelectorAll('select[name=surface] option:disabled')].map((o) => o.textContent)`, &texts,
		)))
		return texts
	}
	require.Equal(t, []string{
		"Embed in a chat (reports no views)", "Banner 300 × 250 (needs the format Picture)",
		"Banner 728 × 90 (needs the format Picture)", "Banner 320 × 50 (needs the format Picture)",
		"Banner 300 × 600 (needs the format Picture)", "Banner 160 × 600 (needs the format Picture)",
		"Video (VAST) (needs the format Video)",
	}, barred("en"))
	german := barred("de")
	require.Contains(t, german, "Banner 728 × 90 (braucht das Format Bild)")
	require.Contains(t, german, "Einbettung im Chat (meldet keine Sichtkontakte)")
	w.examine(t, tab, desk)
	require.Empty(t, tab.Problems())
}

// The player plays the film of the real VAST document, and lets it be skipped when the document
// says.
func TestVASTPlays(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns/new?step=creative"))
	require.NoError(t, tab.Do(
		chromedp.Evaluate(
			`(() => { const s = document.querySelector('select[name=format]'); s.value = 'video'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil,
		),
		chromedp.SendKeys(`input[name=headline]`, "Films of chess", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=media_url]`, "https://media.shop.example/film.mp4", chromedp.ByQuery),
	))
	require.NoError(t, tab.Await(`!document.querySelector('select[name=surface] option[value=vast]').disabled`))
	choose(t, tab, "vast")
	require.NoError(t, tab.Await(`document.querySelector('.stage iframe')?.src.endsWith('/console/preview/vast')`))
	within(t, tab, `document.querySelector('video')?.getAttribute('aria-label') === 'Films of chess'`)
	frame := drawn(t, tab)
	require.NoError(
		t,
		frame.Await(
			`document.querySelector('.player > span').textContent === 'Sponsored' && document.querySelector('.player button').disabled`,
		),
	)
	require.NoError(
		t, frame.Do(chromedp.Evaluate(`document.querySelector('video').play().then(() => 1)`, nil, awaited)),
	)
	require.NoError(
		t,
		frame.Await(
			`document.querySelector('video').currentTime > 3 && !document.querySelector('.player button').disabled`,
		),
	)
	require.Empty(t, frame.Problems(), fmt.Sprint(tab.Problems()))
}
