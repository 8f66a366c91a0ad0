package track

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"adnet/ingress/httpapi"
	"adnet/ingress/track/agents"
	"adnet/internal/day"
	"adnet/internal/traffic"
	"adnet/schemas/event"

	"github.com/google/uuid"
)

// TrafficConfig is the settings of the invalid-traffic rules; they must be the same on every node.
// What they find is written into the event, so a later change of a setting changes nothing that was
// recorded.
type TrafficConfig struct {
	Agents     string        `name:"invalid-agents" env:"ADNET_INVALID_AGENTS" default:"on" enum:"on,off" help:"Whether robots, empty user agents and prefetches of browser-side integrations are invalid traffic."`
	ClickDelay time.Duration `name:"click-min-delay" env:"ADNET_CLICK_MIN_DELAY" default:"300ms" help:"A click sooner after the auction is invalid traffic; 0 switches the rule off."`
	ClickRates string        `name:"click-rates" env:"ADNET_CLICK_RATES" default:"1/1m,3/10m,10/1h,25/24h" help:"Most clicks that count per network (IPv4 /24, IPv6 /56) and time; off switches the rule off."`
}

// Rate is at most Limit in every stretch of Window.
type Rate struct {
	Limit  int
	Window time.Duration
}

// maxWindow is the longest window of a click rate: a click's token lives no longer.
const maxWindow = 24 * time.Hour

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
		if err := errors.Join(err, err2); err != nil || limit < 1 || length < time.Second || length > maxWindow {
			return nil, fmt.Errorf("ADNET_CLICK_RATES must be off or a list like 1/1m,3/10m of at most %s, not %q", maxWindow, c.ClickRates)
		}
		list = append(list, Rate{limit, length})
	}
	return list, nil
}

// Clicks counts the clicks of networks over all nodes; see redis.Clicks.
type Clicks interface {
	// Allow says whether a click at now is inside every rate, and counts it if so. The same auction
	// counts once.
	Allow(ctx context.Context, click NetworkClick, rates []Rate) (bool, error)
}

// NetworkClick is one click of a network.
type NetworkClick struct {
	Network string // a prefix, never an address
	Auction uuid.UUID
	At      time.Time
}

// Views counts the impressions of networks over all nodes; see limits.Limits.
type Views interface {
	// View reports whether an impression is within the rate, and counts it if so. It makes no
	// network call.
	View(network string, now time.Time) bool
}

// Origin is what a request tells about who sent it. The zero value is a report without a request of
// a browser, as that of an MCP tool.
type Origin struct {
	request *httpapi.Context
	posted  bool   // a JSON report, which a server may send for many people
	method  string // integration method that the request names; believed only where it makes the rules stricter
}

// browserSide says whether an integration runs where the reader is, so that the request's headers
// and address are the reader's own. For mcp and rest they are a server's, where tools and data
// centres are legitimate.
func browserSide(method string) bool { return method == "js_snippet" || method == "npm_sdk" }

// How long a click waits for the count of its network, and the pause after a failure: a redirect
// must not hang because a cache does. A click that could not be counted passes: a fault of ours is
// not the reader's.
const (
	countWait = 50 * time.Millisecond
	countRest = time.Second
)

// screening judges events; everything it finds is in the closed list of traffic.InvalidRules.
type screening struct {
	cfg    TrafficConfig
	rates  []Rate
	agents *agents.List // nil when off
	clicks Clicks
	views  Views
	rest   atomic.Int64 // UnixNano until when clicks are not counted
}

func newScreening(cfg TrafficConfig, deps Deps) (*screening, error) {
	if cfg.ClickDelay < 0 {
		return nil, errors.New("ADNET_CLICK_MIN_DELAY must not be negative")
	}
	t := &screening{cfg: cfg, clicks: deps.Clicks, views: deps.Views}
	var err error
	if t.rates, err = cfg.rates(); err != nil {
		return nil, err
	}
	if cfg.Agents != "off" {
		t.agents, err = agents.New()
	}
	return t, err
}

// judge writes the first rule that finds e invalid into it. Only what could cost or earn something
// is judged; a conversion is reported by servers, whatever showed the ad.
func (t *screening) judge(ctx context.Context, e *event.Event, o Origin, now time.Time) (counted bool) {
	if e.Proof != event.Proof_SIGNED && e.Proof != event.Proof_UNSIGNED_BILLABLE || e.Sandbox || e.Type == event.Type_CONVERSION {
		return true
	}
	browser := browserSide(e.Placement.GetIntegrationMethod()) || browserSide(o.method)
	if browser && t.agents != nil {
		if e.InvalidTraffic = t.sender(o); e.InvalidTraffic != "" {
			return true
		}
	}
	switch e.Type {
	case event.Type_CLICK:
		auction := uuid.UUID(e.AuctionId)
		if issued, _ := day.TimeOfUUID(auction); e.Proof == event.Proof_SIGNED && now.Sub(issued) < t.cfg.ClickDelay {
			e.InvalidTraffic = traffic.RuleClickTooFast
			return true
		}
		if o.request == nil || o.posted && !browser || t.clicks == nil || len(t.rates) == 0 {
			return true
		}
		inside, err := t.count(ctx, NetworkClick{Network: traffic.Network(o.request.ClientIP()), Auction: auction, At: now})
		if !inside {
			e.InvalidTraffic = traffic.RuleClickRate
		}
		return err == nil
	case event.Type_IMPRESSION:
		if browser && o.request != nil && t.views != nil && !t.views.View(traffic.Network(o.request.ClientIP()), now) {
			e.InvalidTraffic = traffic.RuleViewRate
		}
	}
	return true
}

// sender judges the headers of a browser-side request.
func (t *screening) sender(o Origin) string {
	if o.request == nil {
		return traffic.RuleNoAgent // a browser's ad that no browser reports
	}
	header := o.request.Request.Header
	if purpose(header["Sec-Purpose"]) || purpose(header["Purpose"]) {
		return traffic.RulePrefetch
	}
	agent := header["User-Agent"]
	switch {
	case len(agent) == 0 || strings.TrimSpace(agent[0]) == "":
		return traffic.RuleNoAgent
	case t.agents.Listed(agent[0]):
		return traffic.RuleBot
	}
	return ""
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

// count asks for the network's rates; true with an error if the store could not answer.
func (t *screening) count(ctx context.Context, click NetworkClick) (inside bool, err error) {
	if click.At.UnixNano() < t.rest.Load() {
		return true, errResting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countWait)
	defer cancel()
	if inside, err = t.clicks.Allow(ctx, click, t.rates); err != nil {
		t.rest.Store(click.At.Add(countRest).UnixNano())
		return true, err
	}
	return inside, nil
}

var errResting = errors.New("clicks are not counted for a moment")
