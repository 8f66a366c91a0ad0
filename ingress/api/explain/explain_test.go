package explain

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
)

func TestExplainExchanges(t *testing.T) { apitest.Replay(t, "explain", reported) }

func TestDiagnoseExchanges(t *testing.T) { apitest.Replay(t, "diagnose", reported) }

// The closed list is the document's.
func TestCausesMatchTheDocument(t *testing.T) {
	causes := []string{}
	for _, c := range []Cause{
		NotActive, PolicyViolations, Unreviewed, NotStarted, Ended, Unfunded, Unpaid, DailyBudgetSpent, TotalBudgetSpent, NoMatching,
		Irrelevant, Outbid, BelowFloor, Blocked, Paced, Unseen, FrequencyCapped,
		NotPropagated, OK,
	} {
		causes = append(causes, string(c))
	}
	require.Equal(t, causes, apitest.Load(t).CausesOfDiagnosis(t))
}

// Each cause, by what makes it: the campaign as it is, and the candidates that were recorded.
func TestDiagnosis(t *testing.T) {
	id, other := at(start.Add(-time.Hour), 1), at(start.Add(-time.Hour), 2)
	candidates := func(reasons ...auction.Reason) []report.Auction {
		var list []report.Auction
		for i, reason := range reasons {
			list = append(
				list,
				report.Auction{
					AuctionID: at(start, byte(i+1)), At: start,
					Candidates: []report.Candidate{{CampaignID: id, Reason: string(reason)}},
				},
			)
		}
		return list
	}
	spent := func(today, total money.Micros) func(*campaign.Campaign) {
		return func(k *campaign.Campaign) { k.SpentToday, k.SpentTotal = today, total }
	}
	type counted struct {
		cause Cause
		count int64
	}
	none := int64(-1) // no count
	date := func(seconds int) *time.Time {
		at := start.Add(time.Duration(seconds) * time.Second)
		return &at
	}
	german := func(k *campaign.Campaign) { k.Languages = []string{"de"} }
	for name, c := range map[string]struct {
		campaign func(*campaign.Campaign)
		books    func(*campaign.Campaign) // what the ledger says of it
		world    func(*world)
		auctions []report.Auction
		want     []counted
		delivers bool
	}{
		"paused": {
			campaign: func(k *campaign.Campaign) { k.Status = campaign.Paused }, want: []counted{{NotActive, none}},
		},
		"starts in a second": {
			campaign: func(k *campaign.Campaign) { k.StartAt = date(1) }, want: []counted{{NotStarted, none}},
		},
		"ended just now": {
			campaign: func(k *campaign.Campaign) { k.EndAt = date(0) }, want: []counted{{Ended, none}},
		},
		"between its dates": {
			campaign: func(k *campaign.Campaign) { k.StartAt, k.EndAt = date(0), date(1) }, auctions: candidates(""),
			delivers: true, want: []counted{{OK, 1}},
		},
		"violations": {campaign: func(k *campaign.Campaign) {
			k.PolicyViolations = []campaign.Violation{
				{Rule: "shouting", Field: "headline", Message: "m"}, {Rule: "markup", Field: "subtext", Message: "n"},
			}
		}, want: []counted{{PolicyViolations, 2}}},
		"unreviewed, in pages": {
			books: func(k *campaign.Campaign) { k.Reach = campaign.Pages }, auctions: candidates(""), delivers: true,
			want: []counted{{OK, 1}, {Unreviewed, none}},
		},
		"unreviewed, and shown nowhere": {
			books: func(k *campaign.Campaign) { k.Reach = campaign.Nowhere }, want: []counted{{Unreviewed, none}},
		},
		"the version approved last goes on": {
			books: func(k *campaign.Campaign) {
				k.Reach, k.Approved = campaign.Everywhere, &campaign.Creative{Headline: "Before"}
				k.PolicyViolations = []campaign.Violation{{Rule: "unreviewed_change", Field: "creative"}}
			}, auctions: candidates(""), delivers: true, want: []counted{{OK, 1}, {Unreviewed, none}},
		},
		"today": {
			books: spent(49_995_001, 49_995_001), auctions: candidates("budget", "budget"),
			want: []counted{{DailyBudgetSpent, 2}},
		},
		"one unit is left": {
			books: spent(49_995_000, 49_995_000), auctions: candidates(""), delivers: true, want: []counted{{OK, 1}},
		},
		"total": {books: spent(0, 999_999_000), want: []counted{{TotalBudgetSpent, none}}},
		"was out of budget": {
			auctions: candidates("budget", ""), delivers: true, want: []counted{{OK, 1}, {DailyBudgetSpent, 1}},
		},
		"all held by ads that wait for a first act": {
			campaign: func(k *campaign.Campaign) { k.BillingModel = campaign.CPC },
			world: func(w *world) {
				w.view.rooms[id] = reserve.Room{Balance: 50 * money.USD, Open: 6 * money.USD}
			},
			auctions: candidates("budget", ""), delivers: true, want: []counted{{OK, 1}, {Unpaid, 1}},
		},
		"no balance": {
			world: func(w *world) { w.view.rooms[id] = reserve.Room{Balance: 4999} }, auctions: candidates("budget"),
			want: []counted{{Unfunded, 1}},
		},
		"enough balance": {
			world: func(w *world) { w.view.rooms[id] = reserve.Room{Balance: 5000} }, auctions: candidates(""),
			delivers: true, want: []counted{{OK, 1}},
		},
		"node is behind": {
			world: func(w *world) { w.view.campaigns[id] = &campaign.Campaign{} },
			want:  []counted{{NotPropagated, none}},
		},
		"node knows nothing": {
			world: func(w *world) { delete(w.view.campaigns, id) }, want: []counted{{NotPropagated, none}},
		},
		"node is not fresh": {world: func(w *world) { w.view.stale = true }, want: []counted{{NotPropagated, none}}},
		"no requests":       {delivers: true, want: []counted{{NoMatching, 0}}},
		"says something else": {
			auctions: []report.Auction{{AuctionID: at(start, 1), At: start, Reason: "irrelevant"}}, delivers: true,
			want: []counted{{Irrelevant, 1}},
		},
		"none matches": {
			campaign: german, auctions: []report.Auction{{AuctionID: at(start, 1), At: start, Reason: "no_match"}},
			delivers: true, want: []counted{{NoMatching, 1}},
		},
		"others only": {
			campaign: german,
			auctions: []report.Auction{{
				AuctionID: at(start, 1), At: start, Candidates: []report.Candidate{{CampaignID: other}},
			}}, delivers: true, want: []counted{{NoMatching, 1}},
		},
		"long ago": {
			auctions: []report.Auction{{
				AuctionID: at(start, 1), At: start.Add(-62 * time.Minute),
				Candidates: []report.Candidate{{CampaignID: id}},
			}}, delivers: true, want: []counted{{NoMatching, 0}},
		},
		"by frequency of each": {
			auctions: candidates(
				"outbid", "below_floor", "below_floor", "outbid", "outbid", "blocked", "paced", "frequency_capped", "unseen", "unseen",
				"paced", "paced", "paced",
			), delivers: true,
			want: []counted{{Paced, 4}, {Outbid, 3}, {BelowFloor, 2}, {Unseen, 2}, {Blocked, 1}, {FrequencyCapped, 1}},
		},
		"it wins": {
			auctions: candidates("", "outbid", ""), delivers: true, want: []counted{{OK, 2}, {Outbid, 1}},
		},
		"unproven": {
			campaign: func(k *campaign.Campaign) { k.BillingModel = campaign.CPA },
			books:    func(k *campaign.Campaign) { k.Standing.Bound = campaign.Unproven },
			want:     []counted{{Unpaid, none}},
		},
		"won before the pause": {
			campaign: func(k *campaign.Campaign) { k.Status = campaign.Paused }, auctions: candidates("", ""),
			want: []counted{{NotActive, none}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			edit := c.campaign
			if edit == nil {
				edit = func(*campaign.Campaign) {}
			}
			w.campaign(t, id, "advertiser", edit)
			if c.world != nil {
				c.world(w)
			}
			require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", c.auctions))
			k, err := w.Store.Campaigns.Campaign(t.Context(), id)
			require.NoError(t, err)
			if c.books != nil {
				c.books(&k)
			}
			delivery, err := w.Reports.Delivery(t.Context(), id, start.Add(-window), start)
			require.NoError(t, err)
			got := w.api.diagnosis(&k, delivery, start)
			var causes []counted
			for _, x := range got.Causes {
				require.NotEmpty(t, x.Message)
				n := none
				if x.Count != nil {
					n = *x.Count
				}
				causes = append(causes, counted{x.Cause, n})
			}
			require.Equal(t, c.want, causes)
			require.Equal(t, c.delivers, got.Delivers)
		})
	}
}

// The own rates and the bound of a campaign are shown to its owner and administrators only, where
// its bids go by them.
func TestTheOwnersRatesAndBound(t *testing.T) {
	w := newWorld(t)
	now := start.Add(-time.Hour)
	byClicks, byConversions, byGoal, byImpressions, fresh := at(now, 1), at(now, 2), at(now, 3), at(now, 4), at(now, 5)
	judged := func(edit func(k *campaign.Campaign)) func(k *campaign.Campaign) {
		return func(k *campaign.Campaign) {
			k.Standing = campaign.Standing{ClickRate: 1_250_000, ConvertRate: 300}
			edit(k)
		}
	}
	for id, edit := range map[uuid.UUID]func(k *campaign.Campaign){
		byClicks: judged(func(k *campaign.Campaign) { k.BillingModel = campaign.CPC }),
		byConversions: judged(func(k *campaign.Campaign) {
			k.BillingModel, k.Standing.Bound = campaign.CPA, campaign.Behind
		}),
		byGoal: judged(func(k *campaign.Campaign) {
			k.Goal, k.TargetCPA = campaign.GoalTargetCPA, 2*money.USD
		}),
		byImpressions: judged(func(*campaign.Campaign) {}),
		fresh:         func(k *campaign.Campaign) { k.BillingModel = campaign.CPA },
	} {
		k := campaign.Campaign{ID: id, BillingModel: campaign.CPM}
		edit(&k)
		state := w.api.state(&k)
		text, err := json.Marshal([]any{state.ClickRate, state.ConversionRate, state.Bound})
		require.NoError(t, err)
		want := map[uuid.UUID]string{
			byClicks: `[1.25,null,null]`, byConversions: `[1.25,0.0003,{"reason":"behind","cure":"` + campaign.Behind.Displayed().Cure + `"}]`,
			byGoal: `[1.25,0.0003,null]`, byImpressions: `[null,null,null]`, fresh: `[null,null,null]`,
		}
		require.Equal(t, want[id], string(text))
	}
	w.campaign(t, byClicks, "advertiser", func(k *campaign.Campaign) { k.BillingModel = campaign.CPC })
	for _, who := range []string{"rival", "stranger", "publisher", "advertiser", "admin"} {
		reply := w.Do(
			http.MethodGet, "/api/campaigns/"+byClicks.String()+"/diagnose", "", "Authorization", "Bearer "+w.names[who],
		)
		if who == "advertiser" || who == "admin" {
			require.Equal(t, http.StatusOK, reply.Code, who)
			continue
		}
		require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, reply.Code, who)
		require.NotContains(t, reply.Body.String(), "rate")
	}
}

// Whoever looks: nothing in the reply names another's campaign or account, or its price to a
// competitor.
func TestOtherParticipantsStayHidden(t *testing.T) {
	handler, names := reported(t)
	for who, hidden := range map[string][]string{
		"publisher": {
			names["second"], names["rivals"], uuid.UUID(fixed(0x11)).String(), uuid.UUID(fixed(0x12)).String(),
			"order-1", "49", `"effective_cpm":6`, `"effective_cpm":3`,
		},
		"rival": {
			names["winner"], names["second"], names["developer"], `"effective_cpm":4.25`, `"effective_cpm":3`,
			"order-1", "49", `"event_id"`,
		},
		"advertiser": {
			names["rivals"], names["developer"], uuid.UUID(fixed(0x12)).String(), `"effective_cpm":6`,
			`"effective_cpm":2`, "order-1",
		},
	} {
		r, err := http.NewRequest(http.MethodGet, "/api/auctions/"+names["token"]+"/explain", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+names[who])
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, 200, w.Code)
		for _, text := range hidden {
			require.False(t, strings.Contains(w.Body.String(), text), "%s sees %s in %s", who, text, w.Body)
		}
	}
}

// One seat does not explain another's auction; their owner explains both.
func TestSeatsDoNotSeeEachOther(t *testing.T) {
	w := newWorld(t)
	owner := w.users["stranger"]
	bearer, developer := map[string]string{}, map[string]uuid.UUID{}
	for n, name := range []string{"first", "second"} {
		plain, material, err := account.GenerateKey(account.KindSeat)
		require.NoError(t, err)
		seat := account.User{
			ID: fixed(byte(0x60 + n)), DeveloperID: fixed(byte(0x70 + n)), Email: name + "@seats.invalid",
			Role: account.RoleSeat, ParentID: owner.ID, CreatedAt: start,
		}
		require.NoError(t, w.Store.Accounts.CreateSeat(t.Context(), seat, account.Key{
			ID: fixed(byte(0x80 + n)), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat,
			Prefix: material.Prefix, Hash: material.Hash, CreatedAt: start,
		}))
		bearer[name], developer[name] = plain, seat.DeveloperID
	}
	signed := w.Ring.Sign(
		token.PurposeReport,
		token.Auction{AuctionID: at(start, 9), CampaignID: fixed(1), DeveloperID: developer["first"]},
	)
	for caller, want := range map[string]int{
		bearer["first"]: 200, bearer["second"]: 403, w.names["stranger"]: 200, w.names["rival"]: 403,
	} {
		require.Equal(t, want, w.Caller(caller).Get(t, "/api/auctions/"+signed+"/explain").Code)
	}
}

// A refusal is explained to the publisher's key and login for a day, then by its reason alone, and
// never to others.
func TestARefusalIsExplainedForADay(t *testing.T) {
	w := newWorld(t)
	rival := at(start.Add(-48*time.Hour), 3)
	w.campaign(t, rival, "rival")
	auction := func(n byte, before time.Duration, edit func(*report.Auction)) string {
		a := report.Auction{
			AuctionID: at(start.Add(-before), n), At: start.Add(-before), DeveloperID: w.users["publisher"].DeveloperID,
			Reason: "unsuitable",
		}
		edit(&a)
		require.NoError(t, w.Reports.InsertAuctions(t.Context(), strconv.Itoa(int(n)), []report.Auction{a}))
		return a.AuctionID.String()
	}
	never := func(a *report.Auction) { a.Suitability, a.SuitabilityBy = "suicide", "rule" }
	sensitive := func(a *report.Auction) {
		a.Reason, a.Suitability = "sensitive", "health"
		a.Candidates = []report.Candidate{{CampaignID: rival, Reason: "sensitive"}}
	}
	for name, c := range map[string]struct{ id, want string }{
		"never": {
			auction(1, 24*time.Hour, never), `"suitability":{"tier":"never","subject":"suicide","by":"rule"}`,
		},
		"a day ago": {auction(2, 24*time.Hour+time.Millisecond, never), ""},
		"memory": {
			auction(3, time.Minute, func(a *report.Auction) { a.SuitabilityBy = "memory" }),
			`"suitability":{"tier":"never","by":"memory"}`,
		},
		"sensitive": {auction(4, time.Minute, sensitive), `"suitability":{"tier":"sensitive","subject":"health"}`},
		"another":   {auction(5, time.Minute, func(a *report.Auction) { a.Reason = "no_match" }), ""},
	} {
		for _, who := range []string{"publisher", "key", "admin", "rival"} {
			reply := w.Caller(w.names[who]).Get(t, "/api/auctions/"+c.id+"/explain")
			if who == "rival" && name != "sensitive" {
				require.Equal(t, http.StatusForbidden, reply.Code)
				continue
			}
			require.Equal(t, http.StatusOK, reply.Code, reply.Text)
			require.Contains(t, reply.Text, `"reason":"`)
			if c.want != "" && (who == "publisher" || who == "key") {
				require.Contains(t, reply.Text, c.want, name)
				continue
			}
			require.NotContains(t, reply.Text, "suitability", "%s, %s", name, who)
		}
	}
	plain, material, err := account.GenerateKey(account.KindBrowser)
	require.NoError(t, err)
	require.NoError(t, w.Store.Accounts.CreateKey(t.Context(), account.Key{
		ID: uuid.New(), OwnerID: w.users["publisher"].ID, DeveloperID: w.users["publisher"].DeveloperID,
		Kind: account.KindBrowser, Hash: material.Hash,
	}))
	require.Equal(
		t, http.StatusUnauthorized, w.Caller(plain).Get(t, "/api/auctions/"+auction(6, 0, never)+"/explain").Code,
		"a page's key",
	)
}

// What refusals took is told by subject in hundreds, of the places that the campaign targets, and
// is in no count of the window.
func TestDiagnoseCountsRefusals(t *testing.T) {
	w := newWorld(t)
	mine := at(start, 1)
	w.campaign(
		t, mine, "advertiser", func(k *campaign.Campaign) { k.Surfaces, k.Regions = []string{"chat"}, []string{"de"} },
	)
	var list []report.Auction
	add := func(n int, reason, about, surface string) {
		for range n {
			list = append(
				list,
				report.Auction{
					AuctionID: uuid.Must(uuid.NewV7()), At: start.Add(-time.Minute), Reason: reason, Suitability: about,
					Surface: surface,
				},
			)
		}
	}
	add(250, "sensitive", "health", "chat")
	add(99, "sensitive", "debt", "chat")
	add(300, "sensitive", "politics", "welcome")
	add(120, "unsuitable", "suicide", "chat")
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", list))
	reply := w.Do(
		http.MethodGet, "/api/campaigns/"+mine.String()+"/diagnose", "", "Authorization",
		"Bearer "+w.names["advertiser"],
	)
	var reported struct {
		Refused struct {
			Subjects []map[string]any `json:"subjects"`
		} `json:"refused"`
		Window struct {
			Auctions int `json:"auctions"`
		} `json:"window"`
	}
	require.Equal(t, 200, reply.Code)
	require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &reported))
	require.Equal(t, []map[string]any{
		{"reason": "sensitive", "subject": "health", "requests": 200.0},
		{"reason": "unsuitable", "subject": "suicide", "requests": 100.0},
	}, reported.Refused.Subjects)
	require.Zero(t, reported.Window.Auctions)
}
