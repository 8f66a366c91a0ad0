package track

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/ingress/track/agents"
	"adnet/internal/account"
	"adnet/internal/compliance/consent"
	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// TrafficConfig holds the settings of the invalid-traffic rules. They must be the same on every
// node. The result is stored in the event, so a later change of a setting does not affect recorded
// events.
type TrafficConfig struct {
	Agents     string        `name:"invalid-agents" env:"ADNET_INVALID_AGENTS" default:"on" enum:"on,off" help:"Whether robots, link previews and prefetches are invalid traffic. In requests that only a reader sends, this includes tools and empty user agents."`
	ClickDelay time.Duration `name:"click-min-delay" env:"ADNET_CLICK_MIN_DELAY" default:"300ms" help:"Minimum time from the auction to a click; earlier clicks are invalid traffic. 0 disables the rule."`
	ViewDelay  time.Duration `name:"view-min-delay" env:"ADNET_VIEW_MIN_DELAY" default:"1s" help:"Minimum time from the auction to a view; earlier views are invalid traffic, because a view takes a second. 0 disables the rule."`
	ClickRates string        `name:"click-rates" env:"ADNET_CLICK_RATES" default:"1/1m,3/10m,10/1h,25/24h" help:"Maximum clicks that count per reader (address and user agent) and period. An address (IPv6: /64) may have four times as many, a network (IPv4 /24, IPv6 /56) sixteen times. off disables the rule."`

	SharedNetworks []string `name:"shared-networks" env:"ADNET_SHARED_NETWORKS" help:"Networks and addresses of carriers' gateways, whose addresses many people share (default: none). Each address in them may have as many clicks as a network, sixteen times ADNET_CLICK_RATES. Registrations from them bind no accounts."`
}

// Rate allows one person at most Limit events in every period of length Window.
type Rate struct {
	Limit  int
	Window time.Duration
}

// Limits of a click rate. Click tokens expire by the end of the longest window.
const (
	maxWindow = 24 * time.Hour
	maxRate   = 1 << 40
)

// rates reads ClickRates.
func (c TrafficConfig) rates() ([]Rate, error) {
	if c.ClickRates == "off" || c.ClickRates == "" {
		return nil, nil
	}
	var list []Rate
	for _, text := range strings.Split(c.ClickRates, ",") {
		n, window, _ := strings.Cut(strings.TrimSpace(text), "/")
		limit, err := strconv.Atoi(n)
		length, err2 := time.ParseDuration(window)
		if err := errors.Join(err, err2); err != nil || limit < 1 || limit > maxRate || length < time.Second ||
			length > maxWindow {
			return nil, fmt.Errorf(
				"ADNET_CLICK_RATES must be off or a list like 1/1m,3/10m of at most %s, not %q", maxWindow,
				c.ClickRates,
			)
		}
		list = append(list, Rate{limit, length})
	}
	return list, nil
}

// NetworkClicks returns the most clicks that the rule lets a network have on a UTC day, 0 for any
// number. Settlement charges no more on a campaign. Errors: ClickRates is not valid.
func (c TrafficConfig) NetworkClicks() (most int64, err error) {
	rates, err := c.rates()
	for _, r := range rates {
		ofDay := networkPeople * int64(r.Limit) * int64((maxWindow+r.Window-1)/r.Window)
		if most == 0 || ofDay < most {
			most = ofDay
		}
	}
	return most, err
}

// Clicks counts the clicks of readers, addresses and networks over all nodes; see redis.Clicks.
type Clicks interface {
	// Allow reports whether a click is within every rate of its reader, and of the people of its
	// address and network, and counts it if so. An auction counts once per network.
	Allow(ctx context.Context, click NetworkClick, rates []Rate) (bool, error)
}

// NetworkClick is one click of a network.
type NetworkClick struct {
	Network       string          // a prefix, never a full address; a keyed hash for a gateway's address
	Address       token.Pseudonym // of the whole IPv4 address, or the /64 of IPv6
	Reader        token.Pseudonym // of address and user agent
	AddressPeople int             // number of people whose clicks the address may have
	Auction       uuid.UUID
	At            time.Time
}

// NetworkPeople returns the number of people whose clicks the network may have.
func (NetworkClick) NetworkPeople() int { return networkPeople }

// Views counts the impressions of networks over all nodes; see limits.Limits.
type Views interface {
	// View reports whether an impression is within the rate, and counts it if so. It makes no
	// network call.
	View(network string, now time.Time) bool
}

// Reports judges the number of reported clicks and views; see limits.Limits. It makes no network
// call.
type Reports interface {
	// Reported reports whether a click reported by a publisher's server is within the network's
	// click rate, and counts it if so.
	Reported(publisher, auction uuid.UUID, now time.Time) bool
	// Followed counts a link that a reader followed.
	Followed(auction uuid.UUID)
	// ReportedView is the same as Reported for views.
	ReportedView(publisher, auction uuid.UUID, now time.Time) bool
	// Viewed counts an ad that a reader's page reported: its impression, or its view.
	Viewed(auction uuid.UUID, view bool)
}

// Origin describes the sender of a request. The zero value is a report that no reader's browser
// sent, like that of an MCP tool.
type Origin struct {
	request *gin.Context
	posted  bool // a JSON report, which a server may send for many people
	link    bool // the redirect: always followed by the reader, whatever the integration
}

// private reports whether the request asks for privacy (Sec-GPC).
func (o Origin) private() bool { return o.request != nil && consent.GPC(o.request.Request.Header) }

// server reports whether a request about an ad of the integration method may come from the
// publisher's server, where tools and data centres are legitimate. The method comes from the token,
// so the sender cannot fake it in the request.
func (o Origin) server(method string) bool { return !o.link && !traffic.ReaderSide(method) }

// reader reports whether a reader's device sent the request, as far as it shows: a link, a pixel, or
// the report of a page, which browsers mark and which has no key of the publisher's server.
func (o Origin) reader() bool {
	if o.request == nil || !o.posted {
		return o.request != nil
	}
	header := o.request.Request.Header
	if len(header["Origin"]) == 0 && len(header["Sec-Fetch-Site"]) == 0 {
		return false
	}
	bearer, keyed := httpapi.Bearer(o.request)
	return !keyed || account.LooksLike(account.KindBrowser, bearer)
}

// The time limit for a click's count over all nodes, and the pause after a failure: a redirect must
// not hang because of a cache. A click that cannot be counted over all nodes is judged by the
// clicks of this node.
const (
	countWait = 50 * time.Millisecond
	countRest = time.Second
)

// screening judges events. Its findings are from the closed list of traffic.InvalidRules.
type screening struct {
	cfg    TrafficConfig
	rates  []Rate
	from   sources
	agents *agents.List // nil when off
	clicks Clicks
	nearby *nearbyClicks
	views  Views
	posted Reports
	rest   atomic.Int64 // UnixNano until which clicks are not counted
}

func newScreening(cfg TrafficConfig, deps Deps) (*screening, error) {
	if cfg.ClickDelay < 0 {
		return nil, errors.New("ADNET_CLICK_MIN_DELAY must not be negative")
	}
	if cfg.ViewDelay < 0 {
		return nil, errors.New("ADNET_VIEW_MIN_DELAY must not be negative")
	}
	t := &screening{cfg: cfg, clicks: deps.Clicks, views: deps.Views, posted: deps.Reports}
	var err error
	if t.rates, err = cfg.rates(); err != nil {
		return nil, err
	}
	t.from.keyring = deps.Keyring
	if t.from.shared, err = sharedNetworks(cfg.SharedNetworks); err != nil {
		return nil, err
	}
	if t.nearby, err = newNearbyClicks(t.rates); err != nil {
		return nil, err
	}
	if cfg.Agents != "off" {
		t.agents, err = agents.New()
	}
	return t, err
}

// judge stores the first rule that e breaks in e. It judges only events that could cost or earn
// something. It skips conversions, which servers report whatever showed the ad.
func (t *screening) judge(ctx context.Context, e *event.Event, o Origin, now time.Time) (counted bool) {
	if e.Proof != event.Proof_SIGNED && e.Proof != event.Proof_UNSIGNED_BILLABLE || e.Sandbox ||
		e.Type == event.Type_CONVERSION {
		return true
	}
	server := o.server(e.Placement.GetIntegrationMethod())
	e.FromReader = o.reader()
	if t.agents != nil {
		rule, tool := t.sender(o, server)
		if e.InvalidTraffic, e.FromReader = rule, e.FromReader && !tool && rule == ""; rule != "" {
			return true
		}
	}
	if e.House { // it costs nothing, so it must not use up the rates of paid ads
		return true
	}
	switch e.Type {
	case event.Type_CLICK:
		return t.click(ctx, e, click{o, server, now})
	case event.Type_IMPRESSION, event.Type_VIEWABLE:
		if e.InvalidTraffic = t.view(e, server, now); e.InvalidTraffic != "" {
			return true
		}
		if onView := e.BillingModel == event.BillingModel_VCPM; onView != (e.Type == event.Type_VIEWABLE) {
			return true // costs nothing: only one event per ad counts against the network
		}
		if !server && o.request != nil && t.views != nil && !t.views.View(traffic.Network(o.request.ClientIP()), now) {
			e.InvalidTraffic = traffic.RuleViewRate
		}
	}
	return true
}

// view judges the time of a view, and the number of views that servers report. It counts the
// impressions and views of readers' pages, whose ratio bounds that number.
func (t *screening) view(e *event.Event, server bool, now time.Time) string {
	auction, view := uuid.UUID(e.AuctionId), e.Type == event.Type_VIEWABLE
	if e.Proof != event.Proof_SIGNED {
		return ""
	}
	// The impression's own time proves nothing: both beacons may come at once, in any order.
	if issued, _ := day.TimeOfUUID(auction); view && now.Sub(issued) < t.cfg.ViewDelay {
		return traffic.RuleViewTooFast
	}
	switch {
	case t.posted == nil:
	case !server && traffic.ReportsViews(e.Placement.GetIntegrationMethod()):
		t.posted.Viewed(auction, view)
	case server && view && !t.posted.ReportedView(uuid.UUID(e.DeveloperId), auction, now):
		return traffic.RulePostedViews
	}
	return ""
}

// click is the origin of a click.
type click struct {
	from   Origin
	server bool // the publisher's server may have sent it
	at     time.Time
}

// click judges the time of a click, and the number of clicks of its sender.
func (t *screening) click(ctx context.Context, e *event.Event, c click) (counted bool) {
	auction, proven := uuid.UUID(e.AuctionId), e.Proof == event.Proof_SIGNED
	e.NetworkMark, e.Reported = t.networkMark(e, c), c.server && (c.from.posted || c.from.request == nil)
	if issued, _ := day.TimeOfUUID(auction); proven && c.at.Sub(issued) < t.cfg.ClickDelay {
		e.InvalidTraffic = traffic.RuleClickTooFast
		return true
	}
	if e.Reported {
		if proven && t.posted != nil && !t.posted.Reported(uuid.UUID(e.DeveloperId), auction, c.at) {
			e.InvalidTraffic = traffic.RulePostedRate
		}
		return true
	}
	if c.from.request == nil || t.clicks == nil || len(t.rates) == 0 {
		return true
	}
	inside, err := t.count(
		ctx, t.from.click(c.from.request.ClientIP(), c.from.request.GetHeader("User-Agent"), auction, c.at),
	)
	switch {
	case !inside:
		e.InvalidTraffic = traffic.RuleClickRate
	case proven && c.from.link && t.posted != nil && !traffic.ReaderSide(e.Placement.GetIntegrationMethod()):
		t.posted.Followed(auction)
	}
	return err == nil
}

// networkMark returns 16 bits of the mark of a click's network for the campaign and UTC day, plus
// 1: learning uses one click per network, campaign and day, and settlement charges a bounded number
// (TrafficConfig.NetworkClicks). The network of a click without a request is its publisher.
func (t *screening) networkMark(e *event.Event, c click) uint32 {
	network := string(e.DeveloperId)
	if c.from.request != nil {
		network = t.from.network(c.from.request.ClientIP(), c.at)
	}
	campaign, _ := uuid.FromBytes(e.CampaignId)
	mark := t.from.keyring.Network(token.NetworkOfClick, campaign, day.Of(c.at), network)
	return uint32(binary.BigEndian.Uint16(mark[:])) + 1
}

// sender judges the headers of a request. Headers of a posted report mean nothing. tool reports
// whether a program sent it that may be the publisher's server.
func (t *screening) sender(o Origin, server bool) (rule string, tool bool) {
	switch {
	case server && (o.request == nil || o.posted):
		return "", false
	case o.request == nil:
		return traffic.RuleNoAgent, false // a reader-side ad that no reader reports
	}
	header := o.request.Request.Header
	if prefetched(header) {
		return traffic.RulePrefetch, false
	}
	agent := header["User-Agent"]
	if len(agent) == 0 || strings.TrimSpace(agent[0]) == "" {
		if server {
			return "", true
		}
		return traffic.RuleNoAgent, false
	}
	switch kind := t.agents.Kind(agent[0]); {
	case kind == agents.Robot || kind == agents.Tool && !server:
		return traffic.RuleBot, false
	default:
		return "", kind == agents.Tool
	}
}

// prefetched reports whether a browser or a preview sent a request without its user's act.
func prefetched(header http.Header) bool {
	return purpose(header["Sec-Purpose"]) || purpose(header["Purpose"]) || purpose(header["X-Purpose"]) ||
		purpose(header["X-Moz"])
}

func purpose(values []string) bool {
	for _, v := range values {
		v = strings.ToLower(v)
		if strings.Contains(v, "prefetch") || strings.Contains(v, "prerender") || strings.Contains(v, "preview") {
			return true
		}
	}
	return false
}

// count checks the rates of a click's sources by the clicks of all nodes and by those of this node,
// on an error of the store by the latter alone.
func (t *screening) count(ctx context.Context, click NetworkClick) (inside bool, err error) {
	if click.At.UnixNano() < t.rest.Load() {
		return t.nearby.allow(click), errResting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countWait)
	defer cancel()
	if inside, err = t.clicks.Allow(ctx, click, t.rates); err != nil {
		t.rest.Store(click.At.Add(countRest).UnixNano())
		return t.nearby.allow(click), err
	}
	// This node's own count holds as well: an emptied store lifts no rate on it.
	return inside && t.nearby.allow(click), nil
}

var errResting = errors.New("clicks are not counted during the pause after a failure")
