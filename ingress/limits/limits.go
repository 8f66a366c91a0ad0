// Package limits protects the service from too many requests: per publisher, and per address for
// callers without an account. Frequency caps and pacing are subpackages, because they plug into the
// auction's gate. A limit applies to every period as long as its window, not to clock minutes. With
// the defaults a publisher may send 1,000 requests in any 60 s, indefinitely (one may be refused up
// to a second too long). It may send them all at once, plus a burst of 200 if it left the minute
// before unused.
//
// Nodes share limits without a network call during a request: each node counts the requests it
// accepted and sends absolute counts to the others every 200 ms through the [Exchange]. A node
// decides by its own count plus the latest counts it received. So N nodes exceed the limit at most
// by the requests that one caller sends to N−1 of them while news travels (about 400 ms), and never
// accept more than N times the limit. Without the exchange every node continues alone. A node that
// starts first receives the counts of the last minute.
//
// # Not obvious
//
// On /api/mcp and /api/rtb a good key is accepted even over an address's keyless limit: keys that
// the node has verified before pass, and 50 unknown keys a second are looked up, so that invented
// keys cannot flood the store.
package limits

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/traffic"
)

// Config holds the settings of the limits. They must be the same on every node. 0 disables a limit.
type Config struct {
	PerMinute int `name:"rate-per-minute" env:"ADNET_RATE_PER_MINUTE" default:"1000" help:"Ad requests per minute and publisher (per address for sandbox keys without an account); 0 disables the limit."`
	Burst     int `name:"rate-burst" env:"ADNET_RATE_BURST" default:"200" help:"Ad requests above rate-per-minute that a publisher may send in a burst after using less; a minute without requests restores all of them."`
	BadLogins int `name:"rate-bad-logins" env:"ADNET_RATE_BAD_LOGINS" default:"10" help:"Wrong passwords allowed in 10 minutes per address, and per account and network; four times as many in a day; twice as many per IPv6 /56, ten times per /48. After twenty times as many in a day for an account, from networks unknown to it for 90 days, such a network also needs a mailed link. 0 disables all these limits."`
	Writes    int `name:"rate-writes" env:"ADNET_RATE_WRITES" default:"120" help:"Changes and policy checks per minute and account: campaigns, keys, deposits. 0 disables the limit. Administrators have none."`
	Stats     int `name:"rate-stats" env:"ADNET_RATE_STATS" default:"240" help:"Stats and explanations per minute and account; 0 disables the limit. Administrators have none."`
	Mails     int `name:"rate-mails" env:"ADNET_RATE_MAILS" default:"5" help:"Mailed links per hour that one network (IPv4 /24, IPv6 /56) may request for one e-mail and purpose (registration, new password); twice as many for an IPv6 /48, four times for a /40. 0 disables the limit."`
	Reads     int `name:"rate-reads" env:"ADNET_RATE_READS" default:"600" help:"GET requests per minute and account, stats and explanations included; 0 disables the limit. Administrators have none."`
	Register  int `name:"rate-register" env:"ADNET_RATE_REGISTER" default:"60" help:"Registrations per address (IPv6: /56) in 10 minutes."`
	Benna     int `name:"rate-benna" env:"ADNET_RATE_BENNA" default:"600" help:"Calls of /api/benna per minute and address."`
	Open      int `name:"rate-open" env:"ADNET_RATE_OPEN" default:"600" help:"Requests per minute and address to pages that need no key, except beacons and redirects."`
	Refused   int `name:"rate-refused" env:"ADNET_RATE_REFUSED" default:"600" help:"Responses with 401 per minute and address, after which the address has to wait."`
	Webhooks  int `name:"rate-bad-webhooks" env:"ADNET_RATE_BAD_WEBHOOKS" default:"20" help:"Payment provider deliveries with an invalid signature per minute and address; further ones get 429, without fetching a certificate. Correctly signed deliveries are never rejected. 0 disables the limit."`
	Keyless   int `name:"rate-keyless" env:"ADNET_RATE_KEYLESS" default:"600000" help:"Calls of /api/mcp and /api/rtb per minute and address without a valid key (401s, notices, preflights); above it only calls with a valid key are answered."`
	Seat      int `name:"rtb-per-second" env:"ADNET_RTB_PER_SECOND" default:"2000" help:"Bid requests per second and seat, over all nodes; further ones get 429."`
	Views     int `name:"views-per-minute" env:"ADNET_VIEWS_PER_MINUTE" default:"600" help:"Reader-side impressions (js_snippet, npm_sdk, openrtb) that count per minute and network (IPv4 /24, IPv6 /56); further ones are recorded as invalid traffic. 0 is unlimited."`

	Browser        int `name:"rate-browser" env:"ADNET_RATE_BROWSER" default:"3000" help:"Ad requests per minute and browser key, over all nodes; 0 disables the limit. They do not count against the account's other limits."`
	BrowserNetwork int `name:"rate-browser-network" env:"ADNET_RATE_BROWSER_NETWORK" default:"300" help:"Ad requests with browser keys per minute and network (IPv4 /24, IPv6 /56); 0 disables the limit."`

	Unproven int `name:"rate-unproven" env:"ADNET_RATE_UNPROVEN" default:"600" help:"Beacons and reports per minute and address without a valid token; further ones get 429. 0 disables the limit."`

	PostedViewRate  float64 `name:"posted-view-rate" env:"ADNET_POSTED_VIEW_RATE" default:"0.5" help:"As ADNET_POSTED_CLICK_RATE, for views per impression in readers' pages."`
	PostedClickRate float64 `name:"posted-click-rate" env:"ADNET_POSTED_CLICK_RATE" default:"0.01" help:"Minimum for the network's click rate (clicks per ad). Clicks reported by a publisher's server above that rate (per minute and per day, plus 3 standard deviations and 10 clicks) are recorded as invalid traffic. 0 disables the rule."`
}

// Exchange carries counts between nodes; see redis.Exchange.
type Exchange interface {
	// Exchange sends mine to the other nodes, unless it is empty, and calls hear for each message
	// that they sent since the last call.
	Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error
}

// Deps holds the dependencies of the limits. Each may be nil: then nothing is shared, logged or
// measured.
type Deps struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Exchange Exchange
	Now      func() time.Time // for the limits per address; nil is the clock
	// KnownKey reports whether a caller's key is known, without a lookup; see
	// httpapi.Auth.KnownKey. If it is nil, no key is known.
	KnownKey func(c *gin.Context) (known, formed bool)
	BidLife  time.Duration // how long a bid may wait to be shown; 0 is 5 minutes
}

// The classes. Their values are part of the keys that nodes exchange.
const (
	publisher byte = iota + 1
	badLogin
	register
	benna
	open
	refused
	keyless
	seat
	view
	unprovenEvent
	soldMinute
	soldDay
	reportedMinute
	reportedDay
	networkAds
	networkClicks
	writes
	stats
	loginNetwork // wrong passwords for an account from a network
	loginNetworkDay
	badLogin56      // wrong passwords from an IPv6 /56
	loginAccountDay // wrong passwords for an account, from networks without a good login
	browserKey
	browserNetwork
	unseenKey     // micro-USD of unseen ads, of a browser key and campaign
	unseenNetwork // the same of a network
	badDelivery   // without a valid provider signature
	viewedMinute
	viewedDay
	networkShown
	networkViews
	heldAds  // micro-USD of unseen ads, of a publisher and campaign
	heldBids // the same of an exchange's bids
	heldNew  // the same of all new publishers together
	adsSold  // of a publisher and surface
	adsShown
	mailed // mails asked for an e-mail from a network
	mailed48
	mailed40
	badLogin48
	reads
	classes // at most 64: see [shard]
)

// Limits counts requests. Its methods may be called from any goroutine.
type Limits struct {
	deps     Deps
	classes  [classes]class
	limits   [classes]string // of classes, as text for replies
	shards   [shards]*shard
	has      atomic.Uint64    // a bit of each class that has had a meter
	spans    [classes]tallies // of the classes that have tallies instead of meters
	tallied  [shards]*tallyShard
	ended    *ended
	heard    map[string]*peer // of Run's goroutine
	stopped  [classes]prometheus.Counter
	failures prometheus.Counter
	lookups  *rate.Limiter
	clicks   posted // reported by servers
	views    posted
	often    *obs.LimitedLogger
}

// New returns the limits. It starts nothing.
func New(cfg Config, deps Deps) (*Limits, error) {
	deps.Now = schedule.Clock(deps.Now)
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	l := &Limits{deps: deps, heard: make(map[string]*peer), ended: newEnded(), often: obs.Limited(deps.Log, time.Minute)}
	l.lookups = rate.NewLimiter(lookupsPerSecond, lookupsPerSecond)
	if cfg.PostedClickRate < 0 || cfg.PostedClickRate > 1 {
		return nil, errors.New("ADNET_POSTED_CLICK_RATE must be 0 to 1")
	}
	if cfg.PostedViewRate < 0 || cfg.PostedViewRate > 1 {
		return nil, errors.New("ADNET_POSTED_VIEW_RATE must be 0 to 1")
	}
	err := l.beginPosted(cfg)
	if err != nil {
		return nil, err
	}
	for _, c := range []class{
		{publisher, "publisher", int64(cfg.PerMinute), 0, int64(cfg.Burst), time.Minute},
		{badLogin, "bad_login", int64(cfg.BadLogins), 0, 0, 10 * time.Minute},
		{register, "register", int64(cfg.Register), 0, 0, 10 * time.Minute},
		{benna, "benna", int64(cfg.Benna), 0, 0, time.Minute},
		{open, "open", int64(cfg.Open), 0, 0, time.Minute},
		{refused, "refused", int64(cfg.Refused), 0, 0, time.Minute},
		{keyless, "keyless", int64(cfg.Keyless), 0, 0, time.Minute},
		// Counted over a minute, so that requests accepted before their counts arrive are
		// subtracted from the following seconds.
		{seat, "seat", int64(cfg.Seat) * 60, int64(cfg.Seat), 0, time.Minute},
		{view, "view", int64(cfg.Views), 0, 0, time.Minute},
		{unprovenEvent, "unproven", int64(cfg.Unproven), 0, 0, time.Minute},
		// Their limits depend on other classes: see posted.go.
		{soldMinute, "sold_minute", math.MaxInt64, 0, 0, time.Minute},
		{soldDay, "sold_day", math.MaxInt64, 0, 0, 24 * time.Hour},
		{reportedMinute, "reported_minute", math.MaxInt64, 0, 0, time.Minute},
		{reportedDay, "reported_day", math.MaxInt64, 0, 0, 24 * time.Hour},
		{networkAds, "network_ads", math.MaxInt64, 0, 0, 24 * time.Hour},
		{networkClicks, "network_clicks", math.MaxInt64, 0, 0, 24 * time.Hour},
		{viewedMinute, "viewed_minute", math.MaxInt64, 0, 0, time.Minute},
		{viewedDay, "viewed_day", math.MaxInt64, 0, 0, 24 * time.Hour},
		{networkShown, "network_shown", math.MaxInt64, 0, 0, 24 * time.Hour},
		{networkViews, "network_views", math.MaxInt64, 0, 0, 24 * time.Hour},
		{writes, "writes", int64(cfg.Writes), 0, 0, time.Minute},
		{stats, "stats", int64(cfg.Stats), 0, 0, time.Minute},
		{reads, "reads", int64(cfg.Reads), 0, 0, time.Minute},
		// Further guesses wait longer: minutes at first, then most of a day.
		{loginNetwork, "login_network", int64(cfg.BadLogins), 0, 0, 10 * time.Minute},
		{loginNetworkDay, "login_network_day", 4 * int64(cfg.BadLogins), 0, 0, 24 * time.Hour},
		{badLogin56, "bad_login_56", 2 * int64(cfg.BadLogins), 0, 0, 10 * time.Minute},
		{badLogin48, "bad_login_48", 10 * int64(cfg.BadLogins), 0, 0, 10 * time.Minute},
		{loginAccountDay, "login_account_day", 20 * int64(cfg.BadLogins), 0, 0, 24 * time.Hour},
		{mailed, "mailed", int64(cfg.Mails), 0, 0, time.Hour},
		{mailed48, "mailed_48", 2 * int64(cfg.Mails), 0, 0, time.Hour},
		{mailed40, "mailed_40", 4 * int64(cfg.Mails), 0, 0, time.Hour},
		{browserKey, "browser_key", int64(cfg.Browser), 0, 0, time.Minute},
		{browserNetwork, "browser_network", int64(cfg.BrowserNetwork), 0, 0, time.Minute},
		{badDelivery, "bad_webhook", int64(cfg.Webhooks), 0, 0, time.Minute},
	} {
		l.classes[c.id], l.limits[c.id] = c, strconv.FormatInt(c.limit, 10)
	}
	// See unseen.go.
	hour := tallies{time.Hour, 32}
	for id, name := range map[byte]string{
		unseenKey: "unseen_key", unseenNetwork: "unseen_network", heldAds: "unseen_publisher", heldBids: "unseen_bids",
		heldNew: "unseen_new", adsSold: "ads_sold", adsShown: "ads_shown",
	} {
		l.classes[id], l.spans[id] = class{id: id, name: name}, hour
	}
	l.spans[heldBids].window = cmp.Or(deps.BidLife, 5*time.Minute)
	l.spans[adsSold].slots, l.spans[adsShown].slots = 64, 64
	for i := range l.shards {
		if l.shards[i], err = newShard(&l.has); err != nil {
			return nil, err
		}
		if l.tallied[i], err = newTallyShard(); err != nil {
			return nil, err
		}
	}
	stopped := obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_limits_refused_total", Help: "Requests refused with 429, by limit.",
	}, []string{"limit"}))
	l.failures = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_limits_exchange_failures_total",
		Help: "Failed exchanges of counts with the other nodes; limits then use this node's counts alone.",
	}))
	for id := publisher; id < classes; id++ {
		l.stopped[id] = stopped.WithLabelValues(l.classes[id].name)
	}
	return l, nil
}

// Allow counts one ad request of caller at now. It writes the remaining number into reply (nil for
// none), in the header fields of draft-ietf-httpapi-ratelimit-headers-06. If the caller has used up
// its minute it returns errs.RateLimited, with retry_after in seconds. Refused requests do not
// count.
func (l *Limits) Allow(reply http.Header, caller uuid.UUID, now time.Time) error {
	k := key(caller)
	k[0] = publisher // a UUID has enough other bytes
	return l.take(reply, publisher, k, now)
}

// AllowBrowser counts one ad request of a browser key from a network at now, and writes the key's
// remaining number into reply. It returns errs.RateLimited, with retry_after in seconds, if either
// is used up. No other limit counts the request, because strangers can send any number with a key
// they read on a page.
func (l *Limits) AllowBrowser(reply http.Header, id uuid.UUID, network string, now time.Time) error {
	// Check the network first: a network over its limit must not use up the key's.
	if err := l.take(nil, browserNetwork, addressKey(browserNetwork, network), now); err != nil {
		return err
	}
	return l.take(reply, browserKey, ownerKey(browserKey, id), now)
}

// AllowSeat counts one bid request of a seat at now. Above the limit it returns errs.RateLimited,
// with retry_after in seconds.
func (l *Limits) AllowSeat(id uuid.UUID, now time.Time) error {
	k := key(id)
	k[0] = seat
	return l.take(nil, seat, k, now)
}

// Unproven counts one unverified event of an address. Above the limit it returns errs.RateLimited,
// with retry_after in seconds.
func (l *Limits) Unproven(address string, now time.Time) error {
	return l.take(nil, unprovenEvent, addressKey(unprovenEvent, address), now)
}

// BadDelivery counts one delivery of an address without a valid provider signature. Above the limit
// it returns errs.RateLimited, with retry_after in seconds.
func (l *Limits) BadDelivery(address string, now time.Time) error {
	return l.take(nil, badDelivery, addressKey(badDelivery, address), now)
}

// Doubts reports whether an address has used up its limit of [Limits.BadDelivery].
func (l *Limits) Doubts(address string, now time.Time) bool {
	return l.check(badDelivery, addressKey(badDelivery, address), now) != nil
}

// View counts one impression of a network at now. Above the limit it counts nothing and returns
// false; the caller then records the event as invalid traffic.
func (l *Limits) View(network string, now time.Time) bool {
	return l.take(nil, view, addressKey(view, network), now) == nil
}

// take counts one request or rejects it.
func (l *Limits) take(reply http.Header, id byte, k key, now time.Time) error {
	c := &l.classes[id]
	if c.limit <= 0 {
		return nil
	}
	at := c.bucket(now)
	s := l.shards[k[len(k)-1]%shards]
	s.mu.Lock()
	m := s.meter(k, c, at)
	retry, full := m.full(c, now)
	if !full {
		m.add(m.newest, 1)
		s.dirty[k] = struct{}{}
	}
	left, reset := max(0, c.limit-m.sum), m.oldest(c, now)
	s.mu.Unlock()
	if full {
		reset = retry
		l.stopped[id].Inc()
	}
	seconds := max(1, int((reset+time.Second-1)/time.Second))
	if reply != nil {
		// One allocation for all three headers: every request of a publisher sends them.
		texts := &[3]string{l.limits[id], strconv.FormatInt(left, 10), strconv.Itoa(seconds)}
		reply["Ratelimit-Limit"], reply["Ratelimit-Remaining"], reply["Ratelimit-Reset"] = texts[:1:1], texts[1:2:2],
			texts[2:3:3]
	}
	if full {
		return c.refusal(seconds)
	}
	return nil
}

func (c *class) refusal(seconds int) error {
	return errs.New(
		errs.RateLimited, "more than %d requests in %d s; slow down and add jitter", c.limit, int(c.window.Seconds()),
	).
		With("retry_after", seconds)
}

// full reports whether the limit is reached, and in how long it no longer is.
func (m *meter) full(c *class, now time.Time) (retry time.Duration, full bool) {
	if m.sum >= c.limit && m.extraLeft() == 0 {
		return m.until(c.limit, c, now), true
	}
	at := m.newest & (ring - 1)
	if c.burst > 0 && int64(m.own[at])+int64(m.others[at]) >= c.burst {
		return c.start(m.newest + 1).Sub(now), true
	}
	return 0, false
}

// check rejects a request when the limit is used up, and counts nothing.
func (l *Limits) check(id byte, k key, now time.Time) error {
	c := &l.classes[id]
	if c.limit <= 0 {
		return nil
	}
	s := l.shards[k[len(k)-1]%shards]
	if s.has.Load()>>id&1 == 0 { // spares most requests the lock, which all of an address share
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.meters.Get(k)
	if !ok {
		return nil
	}
	m.forward(c.bucket(now))
	retry, full := m.full(c, now)
	if !full {
		return nil
	}
	l.stopped[id].Inc()
	return c.refusal(max(1, int((retry+time.Second-1)/time.Second)))
}

// count adds n, even above the limit.
func (l *Limits) count(id byte, k key, n int32, now time.Time) {
	c := &l.classes[id]
	if c.limit <= 0 {
		return
	}
	s := l.shards[k[len(k)-1]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.meter(k, c, c.bucket(now))
	m.add(m.newest, n)
	s.dirty[k] = struct{}{}
}

// addressKey returns the key of an address, or of its subscriber's network; see
// [traffic.Subscriber].
func addressKey(id byte, ip string) key {
	var room [64]byte // allocated on the stack, on the path of every request
	text := append(room[:0], id)
	line := ""
	if id == register { // one line has 256 of /64
		line = traffic.Wide(ip, 56)
	}
	if line != "" {
		text = append(text, line...)
	} else if addr, err := netip.ParseAddr(ip); err == nil {
		text = traffic.Subscriber(addr).AppendTo(text)
	} else {
		text = append(text, ip...)
	}
	sum := sha256.Sum256(text)
	k := key(sum[:16])
	k[0] = id
	return k
}
