package manage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/campaign"
)

// ifMatch sends a request as p with the header If-Match.
func (p *person) ifMatch(t *testing.T, match, method, path, body string) reply {
	t.Helper()
	r := ingresstest.Request(method, path, body)
	r.Header.Set("Authorization", "Bearer "+p.Token)
	r.Header["If-Match"] = []string{match}
	return ingresstest.Answer(t, p.World.Send(t, r))
}

func TestWritesHoldForTheVersionThatWasRead(t *testing.T) {
	me := newWorld(t).advertiser(t)
	created := me.Post(t, "/api/campaigns", me.draft())
	id := at(created.As(201), "campaign", "id").(string)
	path, tag := "/api/campaigns/"+id, created.Header.Get("ETag")
	version := at(created.As(201), "campaign", "config_version")
	require.Equal(t, fmt.Sprintf(`"%.0f"`, version), tag)
	require.Equal(t, tag, me.Get(t, path).Header.Get("ETag"))

	changed := me.ifMatch(t, tag, "PATCH", path, `{"daily_budget":20}`)
	next := changed.Header.Get("ETag")
	require.EqualValues(t, 20, at(changed.As(200), "campaign", "daily_budget"))
	require.NotEqual(t, tag, next)
	require.Equal(t, next, me.Get(t, path).Header.Get("ETag"))

	for name, match := range map[string]string{
		"an earlier version": tag, "a weak tag": "W/" + next, "no version": `"soon"`, "another form": `"0` + next[1:],
		"a list of others": tag + `, "x", W/` + next, "an empty tag": `""`,
	} {
		for call, body := range map[string]string{
			"PATCH " + path:                        `{"daily_budget":9}`,
			"PATCH /api/campaigns":                 `{"id":"` + id + `","daily_budget":9}`,
			"POST /api/campaigns?action=update":    `{"id":"` + id + `","daily_budget":9}`,
			"POST /api/campaigns?action=pause":     `{"id":"` + id + `"}`,
			"POST /api/campaigns/archive?id=" + id: ``,
			"POST /api/campaigns?action=resume":    `{"id":"` + id + `"}`,
			"POST /api/campaigns?action=submit":    `{"id":"` + id + `"}`,
		} {
			var method, to string
			_, err := fmt.Sscan(call, &method, &to)
			require.NoError(t, err)
			got := me.ifMatch(t, match, method, to, body)
			present := got.Fails(412, "precondition_failed")
			require.Equal(t, next, got.Header.Get("ETag"), "%s: %s", name, call)
			require.EqualValues(t, 20, at(present, "campaign", "daily_budget"))
		}
	}
	for _, match := range []string{"5", `"5`, "*, " + next, next + " " + next, `w/"5"`, "", ",", `"a b"`} {
		refused := me.ifMatch(t, match, "PATCH", path, `{}`).Fails(400, "invalid_request")
		require.Equal(t, "If-Match", refused["field"], match)
	}
	require.Equal(t, next, me.Get(t, path).Header.Get("ETag"), "nothing changed")

	got := me.ifMatch(t, `W/"x" ,"7",`+next, "PATCH", path, `{"daily_budget":21}`)
	got.As(200)
	me.ifMatch(t, "*", "POST", "/api/campaigns?action=pause&id="+id, "").As(200)
	paused := me.Get(t, path).Header.Get("ETag")
	me.ifMatch(t, paused, "POST", "/api/campaigns?action=resume&id="+id, "").As(200)
	me.Call(t, "PATCH", path, object{"daily_budget": 22}).As(200)
	me.ifMatch(t, `"1"`, "PATCH", "/api/campaigns/"+uuid.NewString(), `{}`).Fails(404, "not_found")
}

// What charges show about a campaign and the progress of its goal raise config_version, so that nodes
// read them, but no person changed it: the owner's and the reviewer's writes still apply.
func TestChangesOfTheNetworkKeepTheETag(t *testing.T) {
	w := newWorld(t)
	me, boss := w.advertiser(t), w.admin(t)
	me.creates(t)
	id := me.creates(t, "optimization_goal", "max_conversions")
	path := "/api/campaigns/" + id
	version := func() float64 { return at(me.Get(t, path).As(200), "campaign", "config_version").(float64) }
	learn := func() {
		before := version()
		stored, err := w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		require.NoError(t, w.Store.Campaigns.KeepStandings(t.Context(), []campaign.StandingChange{{
			CampaignID: stored.ID, Seen: stored.ConfigVersion,
			Standing: campaign.Standing{Vote: stored.Standing.Vote + 50_000},
		}}))
		stored, err = w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		next := stored.Pursuit
		next.GoalConversions++
		require.NoError(t, w.Store.Campaigns.KeepGoals(t.Context(), []campaign.GoalChange{
			{CampaignID: stored.ID, Seen: stored.ConfigVersion, State: []byte(`{}`), Pursuit: &next},
		}))
		require.Greater(t, version(), before+1)
	}
	tag, seen := me.Get(t, path).Header.Get("ETag"), version()
	learn()
	require.Equal(t, tag, me.Get(t, path).Header.Get("ETag"))
	later := version()
	learn()
	boss.Post(t, "/api/campaigns/review", object{"id": id, "decision": "approved", "config_version": seen}).As(200)
	me.ifMatch(t, tag, "PATCH", path, `{"daily_budget":19}`).Fails(412, "precondition_failed")
	tag, seen = me.Get(t, path).Header.Get("ETag"), version()
	learn()
	me.ifMatch(t, tag, "PATCH", path, `{"daily_budget":20}`).As(200)
	me.ifMatch(t, tag, "PATCH", path, `{"daily_budget":21}`).Fails(412, "precondition_failed")
	for _, old := range []float64{seen, later} {
		me.Call(t, "PATCH", path, object{"daily_budget": 22, "config_version": old}).Fails(412, "precondition_failed")
	}
	seen = version()
	learn()
	middle := version()
	learn()
	me.ifMatch(t, fmt.Sprintf(`"%.0f"`, middle), "PATCH", path, `{"name":"read between two changes"}`).As(200)
	me.Call(t, "PATCH", path, object{"daily_budget": 23, "config_version": seen}).Fails(412, "precondition_failed")
	me.Call(t, "PATCH", path, object{"daily_budget": 23, "config_version": version() + 1}).
		Fails(412, "precondition_failed")
}

func TestAVersionInTheBodyIsAPrecondition(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	id := me.creates(t)
	path := "/api/campaigns/" + id
	version := at(me.Get(t, path).As(200), "campaign", "config_version").(float64)
	me.Call(t, "PATCH", path, object{"daily_budget": 30, "config_version": version}).As(200)
	me.Call(t, "PATCH", path, object{"daily_budget": 31, "config_version": version}).Fails(412, "precondition_failed")
	me.Post(t, "/api/campaigns?action=pause", object{"id": id, "config_version": version}).
		Fails(412, "precondition_failed")
	me.Call(t, "PATCH", path, object{"config_version": "7"}).Fails(400, "invalid_request")
	now := me.Get(t, path)
	require.EqualValues(t, 30, at(now.As(200), "campaign", "daily_budget"))
	both := fmt.Sprintf(`{"daily_budget":32,"config_version":%.0f}`, version)
	me.ifMatch(t, now.Header.Get("ETag"), "PATCH", path, both).Fails(412, "precondition_failed")
	refused := other.ifMatch(t, `"1"`, "PATCH", path, `{}`).Fails(403, "forbidden")
	require.NotContains(t, refused, "campaign", "only its owner reads it")
}

// RFC 7396: null removes what was set, so that the default holds again.
func TestNullReturnsAFieldToItsDefault(t *testing.T) {
	me := newWorld(t).advertiser(t)
	sent := object{
		"name": "spring", "format": "image", "subtext": "CI", "media_url": "https://cdn.example.com/a.png",
		"logo_url": "https://cdn.example.com/b.png", "cta_label": "Try", "bid_amount": 7.0, "daily_budget": 80.0,
		"total_budget": 900.0, "pacing": "asap", "frequency_cap": 9.0, "click_id": "off", "min_relevance": 0.5,
		"targeting_mode": "exact", "start_at": "2026-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z",
		"target_host_apps": []any{"discord"}, "target_languages": []any{"de"}, "deal_ids": []any{"x"},
		"categories": []any{"IAB19"}, "exclude_contexts": []any{"alcohol"}, "skippable_after_sec": 9.0,
	}
	usual := at(me.Post(t, "/api/campaigns", me.draft()).As(201), "campaign").(object)
	for field, value := range sent {
		id := me.creates(t, field, value)
		require.Equal(t, value, at(me.Get(t, "/api/campaigns/"+id).As(200), "campaign", field), field)
		got := at(me.Call(t, "PATCH", "/api/campaigns/"+id, object{field: nil}).As(200), "campaign").(object)
		require.Equal(t, usual[field], got[field], field)
	}
	id := me.creates(t)
	for _, field := range []string{"headline", "cta_url", "status", "id"} {
		body := object{field: nil, "daily_budget": 77}
		refused := me.Call(t, "PATCH", "/api/campaigns/"+id, body).Fails(400, "invalid_request")
		require.Equal(t, field, refused["field"])
		if field != "id" {
			body["id"] = id
		}
		refused = me.Post(t, "/api/campaigns?action=update", body).Fails(400, "invalid_request")
		require.Equal(t, field, refused["field"])
	}
	require.EqualValues(t, 50, at(me.Get(t, "/api/campaigns/"+id).As(200), "campaign", "daily_budget"))
	me.Call(t, "PATCH", "/api/campaigns/"+id, object{"spent_total": nil, "review": nil}).As(200)

	me.Call(t, "PATCH", "/api/account/profile", object{"company": "Example Ltd", "display_name": "Ada"}).As(200)
	got := me.Call(t, "PATCH", "/api/account/profile", object{"company": nil}).As(200)
	require.Equal(t, "Ada", got["display_name"])
	require.NotEqual(t, "Example Ltd", got["company"])
}

func TestBlankItemsOfListsAreRefused(t *testing.T) {
	me := newWorld(t).advertiser(t)
	for _, blank := range []any{nil, "", "  ", 7, object{}, []any{}} {
		list := []any{"grief", blank}
		for path, fields := range map[string][]string{
			"PUT /api/account/blocks":     {"advertisers", "domains", "categories", "words"},
			"PUT /api/account/publishing": {"sensitive_contexts"},
		} {
			for _, field := range fields {
				items := map[string]any{
					"advertisers": uuid.NewString(), "domains": "shop.example", "categories": "IAB7",
				}
				if first, other := items[field]; other {
					list[0] = first
				} else {
					list[0] = "grief"
				}
				var method, to string
				_, err := fmt.Sscan(path, &method, &to)
				require.NoError(t, err)
				refused := me.Call(t, method, to, object{field: list}).Fails(400, "invalid_request")
				require.Equal(t, field, refused["field"], "%v", blank)
				require.EqualValues(t, 1, refused["index"], "%s %v", field, blank)
			}
		}
		created := me.Post(t, "/api/campaigns", me.draft("target_languages", []any{"de", blank}))
		refused := created.Fails(400, "invalid_request")
		require.Equal(t, "target_languages", refused["field"])
		require.EqualValues(t, 1, refused["index"])
	}
}

// Ids are equal as UUIDs, whatever their case.
func TestIDsAreTakenInAnyCase(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	id := me.creates(t)
	upper := upperCase(id)
	require.NotEqual(t, id, upper)
	me.Call(t, "PATCH", "/api/campaigns/"+upper, object{"id": id, "name": "x"}).As(200)
	me.Call(t, "PATCH", "/api/campaigns/"+id, object{"id": upper, "name": "y"}).As(200)
	me.Post(t, "/api/campaigns?action=pause&id="+upper, object{"id": id}).As(200)
	me.Call(t, "PATCH", "/api/campaigns/"+upper, object{"id": uuid.NewString()}).Fails(400, "invalid_request")
	me.Call(t, "PUT", "/api/account/blocks", object{"advertisers": []any{upperCase(me.ID.String())}}).As(200)
	require.Equal(t, me.ID.String(), at(me.Get(t, "/api/account/blocks").As(200), "advertisers", 0))
}

func upperCase(id string) string { return strings.ToUpper(id) }

func TestTheAuditLogTakesIDsInAnyCase(t *testing.T) {
	me := newWorld(t).advertiser(t)
	id := me.creates(t)
	want := me.Get(t, "/api/audit?target_id="+id).As(200)["entries"]
	require.NotEmpty(t, want)
	require.Equal(t, want, me.Get(t, "/api/audit?target_id="+upperCase(id)).As(200)["entries"])
}
