package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// trials are the views of what TestScreens does not reach: the steps of the wizard and the dialogs.
// In English their own tests look at desk and phone; here it is 400 %, and the languages of tests.
func trials() []walk {
	return []walk{
		{"en", []view{{zoomed, false}}},
		{"de", []view{{phone, true}}},
		{"en-XA", []view{{desk, false}, {phone, true}, {zoomed, false}}},
		{"he-XB", []view{{desk, false}, {phone, true}, {zoomed, false}}},
	}
}

// Every step of the wizard fits in the languages of tests, from right to left and at 400 %.
func TestWizardInTrialLanguages(t *testing.T) {
	w := shared
	tab := w.tab(t, "advertiser", desk)
	require.NoError(t, tab.Open(w.base+"/console/campaigns/new"))
	h := hand{t: t, tab: tab}
	h.click(`[data-act=next]`)
	at(t, tab, "audience")
	h.types(`textarea[name=tokens]`, "chess\nopening")
	h.click(`[data-act=next]`)
	at(t, tab, "creative")
	h.types(`input[name=headline]`, "Chess lessons for beginners")
	h.types(`input[name=cta_url]`, "https://chess-shop.example/")
	for _, lang := range trials() {
		w.speak(t, tab, lang.lang)
		for _, step := range []string{"goal", "audience", "creative", "check", "budget", "forecast", "summary"} {
			t.Run(lang.lang+" "+step, func(t *testing.T) {
				require.NoError(t, tab.Open(w.base+"/console/campaigns/new?step="+step))
				at(t, tab, step)
				if step == "check" {
					require.NoError(t, tab.Await(`!!document.querySelector('.good')`))
				}
				w.holds(t, tab, lang, step)
			})
		}
	}
	w.speak(t, tab, "en")
	require.Empty(t, tab.Problems())
}

// So do the dialogs: the question before a decision, and that before a key is replaced; a new key
// with what is pasted into a page; and the second factor, from its code to be scanned to those for
// the case that it is lost.
func TestDialogsInTrialLanguages(t *testing.T) {
	w := shared
	for _, d := range []struct{ as, path, opens string }{
		{"admin", "/console/users", `[data-act=suspend]:not([disabled])`},
		{"publisher", "/console/keys", `[data-act=rotate]`},
	} {
		tab := w.tab(t, d.as, desk)
		for _, lang := range trials() {
			w.speak(t, tab, lang.lang)
			t.Run(lang.lang+" "+d.path+" "+d.opens, func(t *testing.T) {
				require.NoError(t, tab.Open(w.base+d.path))
				require.NoError(t, tab.Await(`!!document.querySelector('`+d.opens+`')`))
				require.NoError(t, tab.Await(`(document.querySelector('`+d.opens+`').click(), true)`))
				require.NoError(t, tab.Await(`!!document.querySelector('dialog[open]')`))
				w.holds(t, tab, lang, "the dialog")
			})
		}
		w.speak(t, tab, "en")
		require.Empty(t, tab.Problems())
	}
}

func TestNewKeyInTrialLanguages(t *testing.T) {
	w := shared
	tab := w.tab(t, "publisher", desk)
	for i, lang := range trials() {
		w.speak(t, tab, lang.lang)
		t.Run(lang.lang, func(t *testing.T) {
			require.NoError(t, tab.Open(w.base+"/console/keys?kind=browser"))
			h := hand{t: t, tab: tab}
			h.types(`input[name=name]`, fmt.Sprintf("trial %d", i))
			h.types(`textarea[name=origins]`, "https://a-page-with-a-rather-long-name.example.com")
			h.click(`.card form button.primary`)
			require.NoError(t, tab.Await(`!!document.querySelector('dialog[open] .code + h3 + .code')`))
			w.holds(t, tab, lang, "a new key")
		})
	}
	w.speak(t, tab, "en")
	require.Empty(t, tab.Problems())
}

func TestSecondFactorInTrialLanguages(t *testing.T) {
	w := shared
	for _, lang := range trials() {
		t.Run(lang.lang, func(t *testing.T) {
			email := fmt.Sprintf("owner@factor-%s-%d.example", strings.ToLower(lang.lang), time.Now().UnixNano())
			w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": passphrase})
			p := w.enters(t, email, passphrase)
			w.speak(t, p.tab, lang.lang)
			require.NoError(t, p.tab.Open(w.base+"/console/security"))
			h := hand{t: t, tab: p.tab}
			h.types(`[data-form=factor-begin] input`, passphrase+"\r")
			require.NoError(t, p.tab.Await(`!!document.querySelector('.qr path')`))
			w.holds(t, p.tab, lang, "the code to scan")
			var secret string
			require.NoError(
				t, p.tab.Do(chromedp.Evaluate(`document.querySelector('[data-shown=qr] .mono').textContent`, &secret)),
			)
			code, err := totp.GenerateCode(secret, time.Now())
			require.NoError(t, err)
			h.types(`[data-form=factor-confirm] input`, code+"\r")
			require.NoError(t, p.tab.Await(`!!document.querySelector('[data-shown=codes] code')`))
			w.holds(t, p.tab, lang, "the recovery codes")
			require.Empty(t, p.tab.Problems())
		})
	}
}

// holds says that what a page shows fits in each view of a walk, and that axe-core finds nothing.
func (w *world) holds(t *testing.T, tab *browser.Tab, lang walk, what string) {
	t.Helper()
	for _, v := range lang.views {
		require.NoError(t, tab.Look(v.View))
		w.misfit(t, tab, fmt.Sprintf("%s in %s at %d × %d px", what, lang.lang, v.Width, v.Height))
		if v.axe {
			w.examine(t, tab, v.View)
		}
	}
}
