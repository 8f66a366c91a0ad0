package browser_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// edited is a campaign of the advertiser of the demo, for a test of its form.
type edited struct {
	*testing.T
	tab       *browser.Tab
	token, id string
}

func newEdited(t *testing.T) edited {
	t.Helper()
	w := shared
	token, owner := w.login(t, "advertiser")
	var created struct{ Campaign struct{ ID string } }
	require.NoError(t, json.Unmarshal(w.post(t, token, "/api/campaigns", map[string]any{
		"advertiser_id": owner, "headline": "Saddles for long tours", "cta_url": "https://saddle-shop.example/",
		"target_intent_tokens": []string{"saddle, leather", "tour; long", "C, the language"},
		"target_host_apps":     []string{"Wheels, Inc. Assistant", "spoke"},
		"target_active_tools":  []string{"maps, v2"}, "target_surfaces": []string{"chat, wide"},
		"target_regions": []string{"US", "DE-BY"}, "target_languages": []string{"en", "pt-BR"},
		"categories": []string{"IAB19", "IAB1"}, "daily_budget": 20.123456,
		"start_at": "2026-01-01T10:00:07Z", "sensitive_contexts": []string{"health", "grief"},
	}), &created))
	return edited{t, w.tab(t, "advertiser", desk), token, created.Campaign.ID}
}

// open opens the form and records what it sends.
func (e edited) open() {
	e.Helper()
	require.NoError(e, e.tab.Before(heard))
	require.NoError(e, e.tab.Open(shared.base+"/console/campaigns/"+e.id+"/edit"))
	require.NoError(e, e.tab.Await(`!!document.querySelector('[data-act=save]')`))
}

func (e edited) click(act string) {
	e.Helper()
	require.NoError(e, e.tab.Do(chromedp.Click(`[data-act=`+act+`]`, chromedp.ByQuery, chromedp.NodeVisible)))
}

func (e edited) saved() {
	e.Helper()
	require.NoError(e, e.tab.Await(`location.pathname === '/console/campaigns/`+e.id+`'`))
}

func (e edited) stored() (c map[string]any) {
	e.Helper()
	var reply struct{ Campaign map[string]any }
	require.NoError(e, json.Unmarshal(shared.send(e.T, http.MethodGet, e.token, "/api/campaigns/"+e.id, nil), &reply))
	return reply.Campaign
}

// patches returns the bodies of the changes that the form has sent.
func (e edited) patches() (bodies []string) {
	e.Helper()
	require.NoError(e, e.tab.Do(chromedp.Evaluate(
		`sent.filter((s) => s.startsWith('/api/campaigns/`+e.id+` ')).map((s) => s.replace(/^[^ ]+ /, ''))`, &bodies,
	)))
	return bodies
}

// colleague changes the campaign by the API.
func (e edited) colleague(fields string) {
	e.Helper()
	shared.send(e.T, http.MethodPatch, e.token, "/api/campaigns/"+e.id, bytes.NewReader([]byte(fields)))
}

func TestSavingAnUntouchedFormChangesNothing(t *testing.T) {
	e := newEdited(t)
	before := e.stored()
	e.open()
	e.click("save")
	e.saved()
	require.Empty(t, e.patches())
	require.Equal(t, before, e.stored())
}

func TestListsKeepTheirEntries(t *testing.T) {
	e := newEdited(t)
	before := e.stored()
	e.open()
	write(t, e.tab, `textarea[name=hosts]`, "Wheels, Inc. Assistant\n  spoke \n\nhub, the app")
	e.click("save")
	e.saved()
	require.Equal(t, []string{`{"target_host_apps":["Wheels, Inc. Assistant","spoke","hub, the app"]}`}, e.patches())
	after := e.stored()
	require.Equal(t, []any{"Wheels, Inc. Assistant", "spoke", "hub, the app"}, after["target_host_apps"])
	for _, list := range []string{
		"target_intent_tokens", "target_active_tools", "target_surfaces", "target_regions", "target_languages",
		"categories", "sensitive_contexts", "daily_budget", "start_at",
	} {
		require.Equal(t, before[list], after[list], list)
	}
}

// Two people edit: the second one learns of it, loses nothing that was typed, and undoes nothing.
func TestAStaleFormOverwritesNothing(t *testing.T) {
	e := newEdited(t)
	e.tab.Expect(`412 .*/api/campaigns/`)
	e.open()
	write(t, e.tab, `input[name=headline]`, "Saddles for short tours")
	e.colleague(`{"daily_budget":2,"cta_label":"Ride"}`)
	e.click("save")
	require.NoError(t, e.tab.Await(`document.querySelector('[data-stale]')?.textContent.includes('Daily budget')`))
	require.NoError(t, e.tab.Await(`document.querySelector('input[name=headline]').value === 'Saddles for short tours'`))
	require.EqualValues(t, 2, e.stored()["daily_budget"])
	e.click("keep")
	require.NoError(t, e.tab.Await(`document.querySelector('input[name=daily_budget]').value === '2'`))
	require.NoError(t, e.tab.Await(`document.querySelector('input[name=headline]').value === 'Saddles for short tours'`))
	e.click("save")
	e.saved()
	now := e.stored()
	require.EqualValues(t, 2, now["daily_budget"])
	require.Equal(t, "Ride", now["cta_label"])
	require.Equal(t, "Saddles for short tours", now["headline"])
}

func TestAStaleFormCanBeReloaded(t *testing.T) {
	e := newEdited(t)
	e.tab.Expect(`412 .*/api/campaigns/`)
	e.open()
	write(t, e.tab, `input[name=daily_budget]`, "30")
	e.colleague(`{"daily_budget":2}`)
	e.click("save")
	e.click("drop")
	require.NoError(t, e.tab.Await(`document.querySelector('input[name=daily_budget]').value === '2'`))
	require.EqualValues(t, 2, e.stored()["daily_budget"])
}

// A change that the form does not show, such as a pause, is no conflict.
func TestAPauseIsNoConflict(t *testing.T) {
	e := newEdited(t)
	e.tab.Expect(`412 .*/api/campaigns/`)
	e.open()
	write(t, e.tab, `input[name=daily_budget]`, "31")
	e.colleague(`{"deal_ids":["spring"]}`)
	e.click("save")
	e.saved()
	require.EqualValues(t, 31, e.stored()["daily_budget"])
	require.Equal(t, []any{"spring"}, e.stored()["deal_ids"])
}

// Both versions stand beside each other, and the user chooses one for each field.
func TestTheUserChoosesBetweenVersions(t *testing.T) {
	e := newEdited(t)
	e.tab.Expect(`412 .*/api/campaigns/`)
	e.open()
	write(t, e.tab, `input[name=headline]`, "Saddles for short tours")
	write(t, e.tab, `input[name=daily_budget]`, "30")
	e.colleague(`{"daily_budget":2,"cta_label":"Ride"}`)
	e.click("save")
	row := func(name, column string) string {
		return `document.querySelector('[data-version=` + name + `] td:nth-of-type(` + column + `)')`
	}
	require.NoError(t, e.tab.Await(row("daily_budget", "1")+`?.textContent.trim() === '2'`))
	require.NoError(t, e.tab.Await(row("daily_budget", "2")+`.textContent.trim() === '30'`))
	require.NoError(t, e.tab.Await(row("daily_budget", "2")+`.querySelector('input').checked`))
	require.NoError(t, e.tab.Await(row("cta_label", "1")+`.querySelector('input').checked`))
	require.NoError(t, e.tab.Do(chromedp.Click(
		`[data-version=daily_budget] td:nth-of-type(1) input`, chromedp.ByQuery, chromedp.NodeVisible,
	)))
	e.click("keep")
	require.NoError(t, e.tab.Await(`document.querySelector('input[name=daily_budget]').value === '2'`))
	e.click("save")
	e.saved()
	now := e.stored()
	require.EqualValues(t, 2, now["daily_budget"])
	require.Equal(t, "Ride", now["cta_label"])
	require.Equal(t, "Saddles for short tours", now["headline"])
}

// The form has every choice of delivery: a target return, exact words, methods, a floor of its own
// and the click id.
func TestTheFormOffersAllChoices(t *testing.T) {
	e := newEdited(t)
	e.open()
	choose := func(name, value string) {
		require.NoError(t, e.tab.Do(chromedp.SetValue(`select[name=`+name+`]`, value, chromedp.ByQuery)))
		require.NoError(t, e.tab.Do(chromedp.Evaluate(
			`document.querySelector('select[name=`+name+`]').dispatchEvent(new Event('change',{bubbles:true}))`, nil,
		)))
	}
	choose("aim", "target_roas")
	require.NoError(t, e.tab.Await(`!!document.querySelector('input[name=target_roas]')`))
	write(t, e.tab, `input[name=target_roas]`, "4.5")
	choose("targeting", "exact")
	choose("click_id", "off")
	write(t, e.tab, `input[name=min_relevance]`, "0.75")
	require.NoError(t, e.tab.Do(chromedp.Click(`input[name=methods][value=mcp]`, chromedp.ByQuery)))
	e.click("save")
	e.saved()
	now := e.stored()
	require.Equal(t, "target_roas", now["optimization_goal"])
	require.EqualValues(t, 4.5, now["target_roas"])
	require.Equal(t, "exact", now["targeting_mode"])
	require.Equal(t, []any{"mcp"}, now["target_integration_methods"])
	require.EqualValues(t, 0.75, now["min_relevance"])
	require.Equal(t, "off", now["click_id"])
	e.open()
	require.NoError(t, e.tab.Await(`document.querySelector('select[name=aim]').value === 'target_roas'`))
	choose("aim", "manual")
	e.click("save")
	e.saved()
	require.Equal(t, "manual", e.stored()["optimization_goal"])
}
