package offer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/ingress/catalog"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/money/share"
	"adnet/internal/process/obs"
	"adnet/internal/store/memory"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
	"adnet/schemas/event"
)

// query is what a request says besides its context.
type query struct {
	session     string
	seen        []string // ad_id of what the page has shown
	turn, first int
	floor       string // USD of 1,000 impressions
	blocked     string // domain
	private     bool   // only deals are taken
	consent     string // JSON of the field consent
	law         string // members of a bid request
	suitability string // JSON of the field suitability
	text        string // the context; chess where empty
	logo        bool   // the markup requires one, which the campaign lacks
	silent      bool   // without a word
}

// adReply is what a wire answered: an ad, or the reason for none (the code of an error).
type adReply struct {
	filled bool
	reason string
}

// wires ask in their protocol, and hold a reply without an ad to their form of it.
var wires = map[string]func(w *world, in query) adReply{"rest": askREST, "mcp": askMCP, "rtb": askRTB}

// publisherWires have conversations; an exchange has floors, blocks and deals.
var (
	publisherWires = []string{"rest", "mcp"}
	exchangeWires  = []string{"rtb"}
	allWires       = []string{"rest", "mcp", "rtb"}
)

// never are the conditions under which no ad is served. On every wire that has it, the world fills
// until set has brought the condition about, or until the request is another.
var never = []struct {
	name   string
	wires  []string
	opts   options
	set    func(w *world)
	before query // the request that is filled
	ask    query // the request that is not
	reason string
}{
	{name: "the catalog is stale", wires: allWires, reason: "stale", set: func(w *world) {
		w.net.down.Store(true)
		time.Sleep(2 * time.Second)
	}},
	{
		name: "events cannot be recorded", wires: allWires, reason: "stale",
		set: func(w *world) { w.net.deaf.Store(true) },
	},
	{name: "reservations are out of reach", wires: allWires, reason: "stale", set: func(w *world) {
		w.shared.Lock()
		w.shared.Down = true
		w.shared.Unlock()
		time.Sleep(2 * time.Second)
	}},
	{name: "the clock is ahead", wires: allWires, reason: "stale", set: func(w *world) { w.skew(3 * time.Second) }},
	{name: "the clock is behind", wires: allWires, reason: "stale", set: func(w *world) { w.skew(-3 * time.Second) }},
	{
		name: "it is too early in the conversation", wires: publisherWires, reason: "frequency_capped",
		before: query{turn: 1, first: 1}, ask: query{turn: 1, first: 5},
	},
	{
		name: "the session has seen it", wires: allWires, reason: "frequency_capped", before: query{session: "s"},
		ask: query{session: "s"},
	},
	{name: "the campaign is paused", wires: allWires, reason: "no_campaigns", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Status = campaign.Paused })
	}},
	{name: "the creative violates a policy", wires: allWires, reason: "no_campaigns", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.PolicyViolations = []campaign.Violation{{Rule: "x"}} })
	}},
	{name: "the targeting excludes it", wires: allWires, reason: "no_match", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Languages = []string{"fi"} })
	}},
	{name: "the campaign has not started", wires: allWires, reason: "no_match", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.StartAt = seconds(60) })
	}},
	{name: "the campaign has ended", wires: allWires, reason: "no_match", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.EndAt = seconds(1) })
	}},
	{name: "it pays for views, which nobody can report", wires: allWires, reason: "no_match", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.BillingModel, k.BillingEvent = campaign.CPM, campaign.OnView })
	}},
	{name: "today's budget is used up", wires: allWires, reason: "budget", set: func(w *world) {
		w.spend(func(r *reserve.Room) { r.Today = 0 })
	}},
	{name: "the total budget is used up", wires: allWires, reason: "budget", set: func(w *world) {
		w.spend(func(r *reserve.Room) { r.Total = 0 })
	}},
	{name: "the balance is used up", wires: allWires, reason: "budget", set: func(w *world) {
		w.spend(func(r *reserve.Room) { r.Balance = 0 })
	}},
	{name: "the rest is reserved", wires: allWires, reason: "budget", opts: options{left: price}},
	{
		name: "the publisher's key is revoked", wires: allWires, reason: "invalid_token",
		set: func(w *world) { w.revoke() },
	},
	{name: "the caller asks too often", wires: allWires, reason: "rate_limited", opts: options{rate: 1}},
	{name: "the floor is higher", wires: exchangeWires, reason: "below_floor", ask: query{floor: "6"}},
	{
		name: "the advertiser's domain is blocked", wires: exchangeWires, reason: "blocked",
		ask: query{blocked: "shop.example"},
	},
	{name: "the publisher blocks the advertiser", wires: allWires, reason: "blocked", set: func(w *world) {
		w.blocks(account.Blocks{Advertisers: []uuid.UUID{theCampaign().AdvertiserID}})
	}},
	{name: "the publisher blocks the domain", wires: allWires, reason: "blocked", set: func(w *world) {
		w.blocks(account.Blocks{Domains: []string{"example"}})
	}},
	{name: "the publisher blocks the category", wires: allWires, reason: "blocked", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Categories = []string{"IAB9-5"} })
		w.blocks(account.Blocks{Categories: []string{"IAB9"}})
	}},
	{name: "the publisher blocks the category of its trade", wires: allWires, reason: "blocked", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Trades = []string{"credit"} })
		w.blocks(account.Blocks{Categories: []string{"IAB13"}})
	}},
	{name: "its trade is for adults, and the reader is not known to be one", wires: allWires, reason: "no_match",
		set: func(w *world) {
			w.change(func(k *campaign.Campaign) { k.Trades = []string{"credit", "alcohol"} })
		}},
	{name: "its trade is politics", wires: allWires, reason: "no_match", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Trades = []string{"politics"} })
	}},
	{name: "the publisher blocks a word", wires: allWires, reason: "blocked", set: func(w *world) {
		w.blocks(account.Blocks{Words: []string{"for BEGINNERS"}})
	}},
	{name: "the publisher's floor of relevance is higher", wires: allWires, reason: "irrelevant", set: func(w *world) {
		w.change(func(k *campaign.Campaign) { k.Headline, k.Subtext = "Garden tools", "Spades and rakes" })
		w.asks(400_000)
	}},
	{name: "the publisher has a floor and nobody says a word", wires: allWires, reason: "irrelevant",
		before: query{silent: true}, ask: query{silent: true}, set: func(w *world) {
			w.asks(400_000)
		}},
	{
		name: "a person is in need", wires: allWires, reason: "unsuitable",
		ask: query{text: "I want to kill myself, or play chess"},
	},
	{
		name: "the publisher does not allow the subject", wires: allWires, reason: "sensitive",
		ask: query{text: "chess with diabetes"},
	},
	{name: "only deals are taken", wires: exchangeWires, reason: "private_auction", ask: query{private: true}},
	{name: "the creative does not fit", wires: exchangeWires, reason: "creative_mismatch", ask: query{logo: true}},
}

// TestNeverServesWhen holds every wire to what must be true before an ad is served.
func TestNeverServesWhen(t *testing.T) {
	// In a bubble of synctest time begins in 2000, and the ids of auctions, which never go back in
	// one process, would be ahead of it: each bubble begins an hour after the one before.
	start := day.Of(time.Now()).Time().Add(36 * time.Hour)
	for _, c := range never {
		for _, wire := range c.wires {
			t.Run(c.name+"/"+wire, func(t *testing.T) {
				start = start.Add(time.Hour)
				store, auth := doors()
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(start))
					w := newWorld(t, store, auth, c.opts)
					defer w.stop()
					require.Equal(
						t, adReply{filled: true}, wires[wire](w, c.before), "without the condition there is an ad",
					)
					if c.set != nil {
						c.set(w)
					}
					for range 3 {
						require.Equal(t, adReply{reason: c.reason}, wires[wire](w, c.ask))
					}
				})
			})
		}
	}
}

// seconds is so many seconds from now, to the second.
func seconds(n int) *time.Time {
	at := time.Now().UTC().Truncate(time.Second).Add(time.Duration(n) * time.Second)
	return &at
}

// Dates hold to the second on every wire, and no node hears of anything at the boundary.
func TestDatesHoldToTheSecond(t *testing.T) {
	start := day.Of(time.Now()).Time().Add(192 * time.Hour)
	for _, wire := range allWires {
		t.Run(wire, func(t *testing.T) {
			start = start.Add(time.Hour)
			store, auth := doors()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start))
				w := newWorld(t, store, auth, options{})
				defer w.stop()
				begins, ends := seconds(5), seconds(8)
				w.change(func(k *campaign.Campaign) { k.StartAt, k.EndAt = begins, ends })
				for _, c := range []struct {
					at     time.Time
					filled bool
				}{
					{begins.Add(-time.Millisecond), false}, {*begins, true}, {ends.Add(-time.Millisecond), true},
					{*ends, false},
				} {
					time.Sleep(time.Until(c.at))
					require.Equal(t, c.filled, wires[wire](w, query{}).filled, "at %s", c.at)
				}
			})
		})
	}
}

// Without consent a session is not remembered, so nothing caps it; with consent, and where nobody
// says anything, it is.
func TestWithoutConsentNothingIsRemembered(t *testing.T) {
	const refused, listed = "CAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA",
		"CAAAAAAAAAAAAAAAAAAAABAAAIAAAAAAAAAAAAAAAAAAAA"
	start := day.Of(time.Now()).Time().Add(96 * time.Hour)
	for name, c := range map[string]struct {
		ask    query
		wires  []string
		capped bool
	}{
		"nothing said": {query{}, allWires, true},
		"purpose 1": {
			query{consent: `{"tcf":"` + listed + `"}`, law: `,"regs":{"gdpr":1},"user":{"consent":"` + listed + `"}`},
			allWires, true,
		},
		"no purpose 1": {
			query{consent: `{"tcf":"` + refused + `"}`, law: `,"regs":{"gdpr":1},"user":{"consent":"` + refused + `"}`},
			allWires, false,
		},
		"no purpose 1, 2.5": {
			query{law: `,"regs":{"ext":{"gdpr":1}},"user":{"ext":{"consent":"` + refused + `"}}`}, exchangeWires, false,
		},
		"purpose 1, 2.5": {
			query{law: `,"regs":{"ext":{"gdpr":1}},"user":{"ext":{"consent":"` + listed + `"}}`}, exchangeWires, true,
		},
		"gdpr without a text": {query{consent: `{"gdpr":true}`, law: `,"regs":{"gdpr":1}`}, allWires, false},
		"no gdpr": {
			query{law: `,"regs":{"gdpr":0},"user":{"consent":"` + refused + `"}`}, exchangeWires, true,
		},
		"opted out": {
			query{consent: `{"us_privacy":"1YYN"}`, law: `,"regs":{"us_privacy":"1YYN"}`}, allWires, false,
		},
		"opted out, 2.5": {query{law: `,"regs":{"ext":{"us_privacy":"1YYN"}}`}, exchangeWires, false},
		"GPP": {
			query{consent: `{"gpp":"DBABTA~1YYN"}`, law: `,"regs":{"gpp":"DBABTA~1YYN","gpp_sid":[6]}`}, allWires,
			false,
		},
		"GPP, 2.5":          {query{law: `,"regs":{"ext":{"gpp":"DBABTA~1YYN"}}`}, exchangeWires, false},
		"GPP, not in force": {query{law: `,"regs":{"gpp":"DBABTA~1YYN","gpp_sid":[2]}`}, exchangeWires, true},
		"GPC":               {query{consent: `{"gpc":1}`}, publisherWires, false},
		"lmt":               {query{law: `,"device":{"lmt":1}`}, exchangeWires, false},
		"malformed":         {query{consent: `{"tcf":"\u0000?"}`, law: `,"regs":{"gpp":"~~~~"}`}, allWires, false},
	} {
		for _, wire := range c.wires {
			t.Run(name+"/"+wire, func(t *testing.T) {
				start = start.Add(time.Hour)
				store, auth := doors()
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(start))
					w := newWorld(t, store, auth, options{})
					defer w.stop()
					c.ask.session = "s"
					require.Equal(t, adReply{filled: true}, wires[wire](w, c.ask))
					want := adReply{filled: true}
					if c.capped {
						want = adReply{reason: "frequency_capped"}
					}
					require.Equal(t, want, wires[wire](w, c.ask))
				})
			})
		}
	}
}

// Without a session a page's own word caps a campaign; with one it counts nothing, and another ad's
// id never does.
func TestPagesCapThemselves(t *testing.T) {
	const refused = `{"gpc": true}`
	start := day.Of(time.Now()).Time().Add(120 * time.Hour)
	this, other := theCampaign().ID.String(), uuid.NewString()
	for name, c := range map[string]struct {
		ask  query
		want adReply
	}{
		"not seen": {query{consent: refused, session: "s"}, adReply{filled: true}},
		"seen, no consent": {
			query{consent: refused, session: "s", seen: []string{other, this}}, adReply{reason: "frequency_capped"},
		},
		"seen, no session":      {query{seen: []string{this}}, adReply{reason: "frequency_capped"}},
		"seen, with a session":  {query{session: "s", seen: []string{this, this}}, adReply{filled: true}},
		"another ad was seen":   {query{consent: refused, seen: []string{other, other}}, adReply{filled: true}},
		"an empty list is none": {query{seen: []string{}}, adReply{filled: true}},
	} {
		t.Run(name, func(t *testing.T) {
			start = start.Add(time.Hour)
			store, auth := doors()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start))
				w := newWorld(t, store, auth, options{})
				defer w.stop()
				require.Equal(t, c.want, askREST(w, c.ask))
			})
		})
	}
}

// doors are the keys' store and what looks them up: its cache has a goroutine that outlives a
// bubble.
func doors() (*memory.Stores, *httpapi.Auth) {
	store := memory.New(time.Now)
	return store, httpapi.NewAuth(httpapi.AuthDeps{Users: store.Accounts, Keys: store.Accounts, Now: time.Now})
}

const price = 5 * money.USD / 1000 // of the one campaign's impression: its bid, for it answers the request

// options are how a world differs from the usual.
type options struct {
	left money.Micros // room in the shared reservations; 0 is plenty
	rate int          // requests a minute, bid requests a second; 0 means no limit
	own  bool         // the campaign is the publisher's

	unreviewed campaign.Reach // ADNET_UNREVIEWED

	teens string // ADNET_TEENS
	flags offer.Flags
}

// world is a node with every wire over the real catalog, leases, frequency caps and limits, and one
// campaign.
type world struct {
	t         *testing.T
	http      *httpapi.Server
	store     *memory.Stores
	net       *network
	shared    *budgettest.Store
	room      reserve.Room
	owner     uuid.UUID
	publisher string // key
	seat      string // key
	keys      []uuid.UUID
	ring      *token.Keyring
	last      string // reply of REST or MCP
	models    bool   // next keys are of pages that models read
	stop      func()
}

func newWorld(t *testing.T, store *memory.Stores, auth *httpapi.Auth, opts options) *world {
	t.Helper()
	w := &world{
		t: t, store: store, owner: uuid.New(), shared: &budgettest.Store{Now: time.Now}, net: newNetwork(theCampaign()),
	}
	if opts.own {
		w.owner = theCampaign().AdvertiserID
	}
	k, quiet, metrics := theCampaign(), slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w.room = reserve.Room{
		CampaignID: k.ID, AdvertiserID: k.AdvertiserID, Version: 1, Day: day.Of(time.Now()), Daily: 50 * money.USD,
		Today: 50 * money.USD,
		Total: 500 * money.USD, Balance: reserve.Unlimited,
	}
	reserved := w.room
	if opts.left > 0 {
		reserved.Today = opts.left
	}
	w.shared.Publish(reserved)
	w.shared.Open(1)
	shelf := catalog.New(catalog.Deps{
		Log: quiet, Metrics: metrics, Source: w.net, Feed: w.net, Node: "n", Now: time.Now,
		Unreviewed: opts.unreviewed,
	})
	leases, err := budget.New(budget.DefaultConfig(), budget.Deps{
		Log: quiet, Metrics: metrics, Store: w.shared, Node: "n", ImpressionLife: time.Hour, Now: time.Now,
	})
	require.NoError(t, err)
	caps, err := frequency.New(
		frequency.Config{Pending: 10 * time.Minute, FirstTurn: 1, TurnGap: 1}, frequency.Deps{Campaigns: shelf},
	)
	require.NoError(t, err)
	rates, err := limits.New(limits.Config{PerMinute: opts.rate, Seat: opts.rate}, limits.Deps{})
	require.NoError(t, err)
	w.http, err = httpapi.New(
		httpapi.Config{BaseURL: "https://ads.example"},
		httpapi.Deps{Log: quiet, Metrics: metrics, Readiness: obs.NewReadiness(), Auth: auth},
	)
	require.NoError(t, err)
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	ring, err := token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	w.ring = ring
	ads := offer.New(offer.Config{Teens: opts.teens}, offer.Deps{
		Flags: opts.flags, Metrics: metrics, Catalog: shelf, Limiter: rates, Keyring: ring, Producer: w.net,
		Recording: w.net, BaseURL: w.http.BaseURL,
		Budget: leases, Delivery: &limits.Delivery{Caps: caps}, Life: tokentest.Life(), Now: time.Now,
	})
	serve.New(serve.Deps{Auth: auth, Ads: ads}).Mount(w.http)
	tools, err := mcp.New(mcp.Config{}, mcp.Deps{Log: quiet, Metrics: metrics, Ads: ads})
	require.NoError(t, err)
	tools.Mount(w.http)
	bids, err := rtb.New(rtb.Config{Seat: "adnet", CatTax: 1, VideoSec: 15}, rtb.Deps{
		Metrics: metrics, Seller: ads, Limiter: rates, Keyring: ring, Producer: w.net, Now: time.Now,
	})
	require.NoError(t, err)
	bids.Mount(w.http)
	require.NoError(
		t,
		store.Accounts.CreateUser(
			t.Context(), account.User{ID: w.owner, DeveloperID: uuid.New(), Email: "p@example.com"},
		),
	)
	w.publisher, w.seat = w.key(account.KindPublisher), w.key(account.KindSeat)
	w.run(shelf.Run, leases.Run)
	time.Sleep(2 * time.Second) // loaded, and the shared reservations grant
	return w
}

// run starts components, which stop ends.
func (w *world) run(components ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, len(components))
	for _, run := range components {
		go func() { ended <- run(ctx) }()
	}
	w.stop = func() {
		cancel()
		for range components {
			require.NoError(w.t, <-ended)
		}
	}
}

func (w *world) key(kind account.KeyKind) string {
	plain, material, err := account.GenerateKey(kind)
	require.NoError(w.t, err)
	id := uuid.New()
	w.keys = append(w.keys, id)
	require.NoError(
		w.t,
		w.store.Accounts.CreateKey(
			w.t.Context(),
			account.Key{
				ID: id, OwnerID: w.owner, DeveloperID: uuid.New(), Kind: kind, Hash: material.Hash,
				Origins: pagesOf[kind], ReadByModels: w.models,
			},
		),
	)
	return plain
}

// pagesOf are the pages of browser keys.
var pagesOf = map[account.KeyKind][]string{account.KindBrowser: {"https://page.example"}}

// revoke ends every key; nodes believe in one for at most 2 s longer.
func (w *world) revoke() {
	for _, id := range w.keys {
		require.NoError(w.t, w.store.Accounts.RevokeKey(w.t.Context(), w.owner, id, time.Now()))
	}
	time.Sleep(3 * time.Second)
}

// blocks has the publisher, to whose account the seat's key belongs too, block something; nodes
// obey within 2 s.
func (w *world) blocks(b account.Blocks) {
	require.NoError(w.t, w.store.Accounts.PutBlocks(w.t.Context(), w.owner, b))
	time.Sleep(2 * time.Second)
}

// asks has the publisher set its floor of relevance.
func (w *world) asks(least share.Share) {
	require.NoError(
		w.t, w.store.Accounts.PutPublishing(w.t.Context(), w.owner, account.Publishing{MinRelevance: &least}),
	)
	time.Sleep(2 * time.Second)
}

// skew sets the clock of the shared reservations back, which is this node's ahead.
func (w *world) skew(ahead time.Duration) {
	w.shared.Lock()
	w.shared.Now = func() time.Time { return time.Now().Add(-ahead) }
	w.shared.Unlock()
	time.Sleep(time.Second)
}

// change announces another state of the campaign.
func (w *world) change(edit func(*campaign.Campaign)) {
	k := theCampaign()
	edit(&k)
	k.ConfigVersion = w.net.campaign.Load().ConfigVersion + 1
	w.net.announce(k)
	time.Sleep(time.Second)
}

// spend announces another room.
func (w *world) spend(edit func(*reserve.Room)) {
	w.room.Version++
	edit(&w.room)
	w.net.listener.Load().Rooms([]reserve.Room{w.room})
	time.Sleep(time.Second)
}

func theCampaign() campaign.Campaign {
	return campaign.Campaign{
		ID: uuid.UUID{0: 0xc0, 6: 0x80, 8: 0x80, 15: 1}, AdvertiserID: uuid.UUID{0: 0xad, 6: 0x80, 8: 0x80, 15: 1},
		Status: campaign.Active,
		Creative: campaign.Creative{
			Format: campaign.Image, Headline: "Chess lessons", Subtext: "For beginners",
			CTALabel: "Start", MediaURL: "https://cdn.shop.example/i.png",
			CTAURL: "https://shop.example/",
		},
		BillingModel: campaign.CPM, BidAmount: 5 * money.USD,
		DailyBudget: 50 * money.USD, TotalBudget: 500 * money.USD,
		FrequencyCap: 1, SensitiveContexts: []string{subject.Health.String()}, ConfigVersion: 1,
	}
}

// network is what a node hears from others: campaigns and rooms, and whether its events arrive.
type network struct {
	down, deaf atomic.Bool
	campaign   atomic.Pointer[campaign.Campaign]
	recorded   atomic.Pointer[[]byte] // the last auction's record
	listener   atomic.Pointer[catalog.Listener]
}

func newNetwork(k campaign.Campaign) *network {
	n := new(network)
	n.campaign.Store(&k)
	return n
}

var errDown = errors.New("down")

func (n *network) announce(k campaign.Campaign) {
	n.campaign.Store(&k)
	n.listener.Load().Changed(k, false)
}

func (n *network) Head(context.Context) (int64, bool, error) {
	if n.down.Load() {
		return 0, false, errDown
	}
	return n.campaign.Load().ConfigVersion, true, nil
}

func (n *network) EachCampaign(_ context.Context, take func([]campaign.Campaign)) (int64, error) {
	k := n.campaign.Load()
	take([]campaign.Campaign{*k})
	return k.ConfigVersion, nil
}

func (n *network) CampaignsSince(context.Context, int64) ([]campaign.Campaign, int64, error) {
	k := n.campaign.Load()
	return []campaign.Campaign{*k}, k.ConfigVersion, nil
}

func (*network) EachRoom(context.Context, func([]reserve.Room)) error { return nil }

func (n *network) Subscribe(ctx context.Context, to catalog.Listener) error {
	n.listener.Store(&to)
	to.Subscribed()
	<-ctx.Done()
	return ctx.Err()
}

func (*network) Heartbeat(context.Context, string, int64) error { return nil }
func (*network) Applied(context.Context, string, int64) error   { return nil }
func (*network) Leave(context.Context, string) error            { return nil }

func (n *network) CanRecord(context.Context) bool { return !n.deaf.Load() }

func (n *network) Produce(topic string, _, value []byte, done func(error)) {
	if topic == event.TopicAuctions {
		stored := slices.Clone(value)
		n.recorded.Store(&stored)
	}
	done(nil)
}

func (w *world) send(path, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if account.LooksLike(account.KindBrowser, key) {
		r.Header.Set("Origin", "https://page.example")
	}
	reply := httptest.NewRecorder()
	w.http.ServeHTTP(reply, r)
	return reply
}

func (w *world) decode(reply *httptest.ResponseRecorder, into any) {
	w.t.Helper()
	require.NoError(w.t, json.Unmarshal(reply.Body.Bytes(), into), "%d %s", reply.Code, reply.Body)
}

// refused is the code of an error of REST and OpenRTB, which have the envelope.
func (w *world) refused(reply *httptest.ResponseRecorder) adReply {
	require.Contains(w.t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, reply.Code, reply.Body)
	var envelope struct {
		Code string `json:"code"`
	}
	w.decode(reply, &envelope)
	return adReply{reason: envelope.Code}
}

// arguments are the fields of a publisher's request.
func (in query) arguments() string {
	fields := map[string]any{"context": in.says()}
	if in.session != "" {
		fields["session_id"] = in.session
	}
	if in.seen != nil {
		fields["seen"] = in.seen
	}
	if in.turn > 0 {
		fields["turn"], fields["first_ad_turn"] = in.turn, in.first
	}
	if in.consent != "" {
		fields["consent"] = jsontext.Value(in.consent)
	}
	if in.suitability != "" {
		fields["suitability"] = jsontext.Value(in.suitability)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// adOrReason is what REST and the structured content of MCP say.
type adOrReason struct {
	Ad *struct {
		AdID string `json:"ad_id"`
	} `json:"ad"`
	CampaignID string `json:"campaign_id"`
	Reason     string `json:"reason"`
}

func askREST(w *world, in query) adReply {
	reply := w.send("/v1/ad-request", w.publisher, in.arguments())
	w.last = reply.Body.String()
	if reply.Code != http.StatusOK {
		return w.refused(reply)
	}
	var got adOrReason
	w.decode(reply, &got)
	if got.Ad == nil {
		require.Contains(w.t, reply.Body.String(), `"ad":null`)
		return adReply{reason: got.Reason}
	}
	require.Equal(w.t, theCampaign().ID.String(), got.Ad.AdID)
	return adReply{filled: true}
}

func askMCP(w *world, in query) adReply {
	reply := w.send(
		mcp.Path, w.publisher,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":`+
			in.arguments()+`}}`,
	)
	w.last = reply.Body.String()
	var got struct {
		Result *struct {
			IsError           bool       `json:"isError"`
			StructuredContent adOrReason `json:"structuredContent"`
		} `json:"result"`
		Error *struct {
			Data struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	w.decode(reply, &got)
	if got.Error != nil {
		require.Nil(w.t, got.Result)
		return adReply{reason: got.Error.Data.Code}
	}
	require.Equal(w.t, http.StatusOK, reply.Code)
	require.False(w.t, got.Result.IsError)
	content := got.Result.StructuredContent
	if content.CampaignID == "" {
		require.Contains(w.t, reply.Body.String(), `"ad":null`)
		return adReply{reason: content.Reason}
	}
	require.Equal(w.t, theCampaign().ID.String(), content.CampaignID)
	return adReply{filled: true}
}

// bidRequest is in for an exchange.
func (in query) bidRequest(ext string) string {
	floor, private, blocked, link := "0", 0, "", `"banner":{"w":320,"h":50}`
	if in.floor != "" {
		floor = in.floor
	}
	if in.private {
		private = 1
	}
	if in.blocked != "" {
		blocked = `"badv":["` + in.blocked + `"],`
	}
	if in.logo {
		link = `"native":{"request":"{\"assets\":[{\"id\":1,\"required\":1,\"img\":{\"type\":1}}]}"}`
	}
	return fmt.Sprintf(`{"id":"r",%s"imp":[{"id":"1",%s,"bidfloor":%s,"pmp":{"private_auction":%d},`+
		`"ext":{"mcp_context":{"intent":%q,"session_id":%q}}}]%s}`, blocked, link, floor, private, in.says(),
		in.session, ext)
}

// says is the context.
func (in query) says() string {
	if in.silent {
		return "…"
	}
	return cmp.Or(in.text, "chess")
}

func askRTB(w *world, in query) adReply {
	reply := w.send("/api/rtb", w.seat, in.bidRequest(in.law+`,"ext":{"debug":1}`))
	if reply.Code != http.StatusOK {
		return w.refused(reply)
	}
	var got struct {
		SeatBid []struct {
			Bid []struct {
				CrID string `json:"crid"`
			} `json:"bid"`
		} `json:"seatbid"`
		NBR *int `json:"nbr"`
		Ext struct {
			SeatNonBid []struct {
				NonBid []struct {
					Ext struct {
						Reason string `json:"reason"`
					} `json:"ext"`
				} `json:"nonbid"`
			} `json:"seatnonbid"`
		} `json:"ext"`
	}
	w.decode(reply, &got)
	if len(got.SeatBid) > 0 {
		require.Equal(w.t, theCampaign().ID.String(), got.SeatBid[0].Bid[0].CrID)
		return adReply{filled: true}
	}
	require.NotNil(w.t, got.NBR)
	require.Len(w.t, got.Ext.SeatNonBid, 1)
	empty := w.send("/api/rtb", w.seat, in.bidRequest(in.law))
	require.Equal(w.t, http.StatusNoContent, empty.Code)
	require.Empty(w.t, empty.Body.String())
	return adReply{reason: got.Ext.SeatNonBid[0].NonBid[0].Ext.Reason}
}
