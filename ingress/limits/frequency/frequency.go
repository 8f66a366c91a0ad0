// Package frequency limits how often ads repeat: the number of impressions of a campaign per
// session and UTC day, and the distance between ads in a conversation, including its first turns.
//
// A decision counts at once, under the auction's id. Its impression (under the same id, so a
// repeated beacon counts once) makes it permanent. Without an impression it expires after
// ADNET_CAP_PENDING. A later impression still counts while its token is valid. Sessions belong to a
// publisher: the same id at another publisher is another session. A reader without consent has no
// session and nothing is stored. In that case only the ads that the page itself reports as seen
// count ([Ask.Seen]).
//
// Nothing in this package waits for Redis, except the first request of a session on a node, for at
// most 20 ms. After that the node has the session in memory. It writes to Redis in the background
// and receives the decisions of other nodes within about 100 ms. So a session whose requests reach
// n nodes within that time can be shown a campaign up to n times as often as its cap. A session
// that pauses 100 ms between requests never exceeds the cap. During an outage of Redis each node
// applies the caps to its own counts.
//
// # Not obvious
//
// Decisions and confirmations are written in the background every 50 ms under the auction's id. A
// node reads the news of other nodes every 200 ms after a second without any. A confirmation waits
// one second, so that it never overtakes its decision. It confirms only an existing decision,
// because a beacon names its session itself. Sessions are stored as keyed hashes (internal/token),
// never as ids.
package frequency

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// Config holds the settings of frequency caps and of the distance between ads.
type Config struct {
	Pending   time.Duration `name:"cap-pending" env:"ADNET_CAP_PENDING" default:"10m" help:"How long an ad without a reported impression counts against its frequency cap."`
	FirstTurn int           `name:"first-ad-turn" env:"ADNET_FIRST_AD_TURN" default:"1" help:"First turn of a conversation that may have an ad; a request's first_ad_turn overrides it."`
	TurnGap   int           `name:"turns-between-ads" env:"ADNET_TURNS_BETWEEN_ADS" default:"1" help:"Turns from one ad of a conversation to the next; a request's turns_between_ads overrides it."`
}

// Bounds.
const (
	// MaxTurn is the highest turn of a conversation and of its settings.
	MaxTurn = 10_000
	// turnTakes is the rough length of a conversation's turn, for retry_after in seconds.
	turnTakes = 20 * time.Second
	// readWait limits how long a session's first request waits for the counts of other nodes.
	readWait = 20 * time.Millisecond
	// trustAgain is the pause in reading from Redis after a failure.
	trustAgain = time.Second
	shards     = 16
	// maxSessions bounds memory. The least recently used session is evicted, and read again when it
	// returns.
	maxSessions = 100_000 / shards
	// maxCampaigns is the maximum number of campaigns counted per session: a session shared by a
	// crowd must not grow without bound.
	maxCampaigns = 2_000
)

// Campaigns returns the caps of campaigns; see catalog.Catalog.
type Campaigns interface {
	// FrequencyCap returns the cap in impressions per session and UTC day, 0 for no cap.
	FrequencyCap(id uuid.UUID) (impressions int, known bool)
}

// Store stores sessions for all nodes; see redis.Sessions.
type Store interface {
	Session(ctx context.Context, session campaign.SessionKey, date int32) ([]campaign.Exposure, int, error)
	Record(ctx context.Context, list []campaign.Exposure) error
}

// Exchange carries news between nodes; see redis.Exchange.
type Exchange interface {
	Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error
}

// Deps holds the dependencies of the caps. Without Store and Exchange each node counts alone.
type Deps struct {
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Campaigns Campaigns
	Store     Store
	Exchange  Exchange
	Now       func() time.Time
}

// Caps is the component. Its methods may be called from any goroutine.
type Caps struct {
	cfg    Config
	deps   Deps
	often  *obs.LimitedLogger
	shards [shards]shard
	rest   atomic.Int64 // UnixNano until which the store is not read
	lapses atomic.Int64 // number of possible losses of news, after which sessions must be read again

	mu      sync.Mutex
	news    []campaign.Exposure // to be written and sent
	delayed []delayedBeacon     // oldest first
	heard   time.Time           // time of the last news, from this or other nodes

	failures prometheus.Counter
	unknown  prometheus.Counter
}

// delayedBeacon is a confirmation that waits until all nodes have its decision: a beacon may reach
// another node before the news of its ad. The delay loses nothing, since the decision counts
// meanwhile.
type delayedBeacon struct {
	campaign.Exposure
	due time.Time
}

type shard struct {
	mu       sync.Mutex
	sessions *simplelru.LRU[campaign.SessionKey, *session]
}

// session is one day of a session. An auction holds the lock while it decides, so that two auctions
// of the same session cannot both use the last impression under a cap.
type session struct {
	mu        sync.Mutex
	read      int64 // lapses at the last read, plus 1
	exposures map[auction.ID][]exposure
	turns     int // counted
	last      int // turn of the last ad, 0 for none
}

type exposure struct {
	auction   uuid.UUID
	until     int64 // unix seconds
	confirmed bool
}

// New returns the caps. It starts nothing. Errors: a setting out of range.
func New(cfg Config, deps Deps) (*Caps, error) {
	if cfg.Pending < time.Second || cfg.Pending > 24*time.Hour {
		return nil, errors.New("ADNET_CAP_PENDING must be from 1s to 24h")
	}
	if cfg.FirstTurn < 0 || cfg.FirstTurn > MaxTurn || cfg.TurnGap < 0 || cfg.TurnGap > MaxTurn {
		return nil, errors.New("ADNET_FIRST_AD_TURN and ADNET_TURNS_BETWEEN_ADS must be from 0 to 10000")
	}
	deps.Now = schedule.Clock(deps.Now)
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	c := &Caps{cfg: cfg, deps: deps, often: obs.Limited(deps.Log, time.Minute)}
	for i := range c.shards {
		var err error
		if c.shards[i].sessions, err = simplelru.NewLRU[campaign.SessionKey, *session](maxSessions, nil); err != nil {
			return nil, err
		}
	}
	c.failures = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_caps_exchange_failures_total",
		Help: "Failed exchanges of frequency caps with the other nodes.",
	}))
	c.unknown = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_caps_unread_total",
		Help: "Requests capped by this node's counts alone because Redis did not answer in 20 ms.",
	}))
	return c, nil
}

// Ask is the caps' view of a request.
type Ask struct {
	Session   campaign.SessionKey // of the UTC day of Now; zero without one
	Seen      []auction.ID        // that the page has shown, one entry per impression; only used without a session
	Turn      int                 // of the conversation, from 1; 0: count one turn per request of the session
	FirstTurn *int                // nil: the setting
	TurnGap   *int                // nil: the setting
	Pending   time.Duration       // 0: the setting
	Now       time.Time
}

// Visit is one auction of a session, from [Caps.Begin] to [Visit.End]. The zero value caps nothing.
type Visit struct {
	caps    *Caps
	session *session     // nil without one
	seen    []auction.ID // without a session
	key     campaign.SessionKey
	day     int32
	turn    int
	wait    int // turns
	now     time.Time
	pending time.Duration
	soonest int64 // unix second at which a refusing cap has room again
	turned  bool  // whether the turn of an ad matters
}

// Begin fills v for one auction and locks its session until End, which must be called. It may wait
// for the store, at most 20 ms, for a session new to this node.
func (c *Caps) Begin(ctx context.Context, ask Ask, v *Visit) {
	first, gap := c.cfg.FirstTurn, c.cfg.TurnGap
	if ask.FirstTurn != nil {
		first = *ask.FirstTurn
	}
	if ask.TurnGap != nil {
		gap = *ask.TurnGap
	}
	*v = Visit{
		caps: c, now: ask.Now, day: int32(day.Of(ask.Now)), turn: ask.Turn, pending: ask.Pending,
		turned: first > 1 || gap > 1,
	}
	if v.pending == 0 {
		v.pending = c.cfg.Pending
	}
	if ask.Session == (campaign.SessionKey{}) {
		v.seen = ask.Seen
	} else {
		v.key = ask.Session
		v.session = c.session(ctx, v.key, v.day)
		v.session.mu.Lock()
		if v.turn == 0 && v.turned {
			v.session.turns++
			v.turn = v.session.turns
			c.queue(campaign.Exposure{Kind: campaign.Turned, Session: v.key, Day: v.day})
		}
	}
	if v.turn > 0 && v.turned {
		v.wait = first - v.turn
		if v.session != nil && v.session.last > 0 && v.turn >= v.session.last {
			v.wait = max(v.wait, v.session.last+gap-v.turn)
		}
	}
}

// Wait returns the number of turns until the conversation may have its next ad, 0 for now.
func (v *Visit) Wait() int { return max(0, v.wait) }

// Check returns auction.FrequencyCapped if the session, or the page without one, has reached the
// cap of c, else "".
func (v *Visit) Check(c *auction.Campaign) auction.Reason {
	if v.session == nil {
		return v.checkPage(c)
	}
	exposures := v.session.exposures[c.ID]
	if len(exposures) == 0 {
		return ""
	}
	most, _ := v.caps.deps.Campaigns.FrequencyCap(uuid.UUID(c.ID))
	if most <= 0 {
		return ""
	}
	now, n, soonest := v.now.Unix(), 0, int64(v.day+1)*86400
	for i := range exposures {
		if exposures[i].counts(now) {
			n++
			if !exposures[i].confirmed {
				soonest = min(soonest, exposures[i].until)
			}
		}
	}
	if n < most {
		return ""
	}
	if v.soonest == 0 || soonest < v.soonest {
		v.soonest = soonest
	}
	return auction.FrequencyCapped
}

// checkPage applies the cap to the ads that the page reports as seen. A false report only costs the
// page ads, which its owner could block as well. Nothing of it is stored.
func (v *Visit) checkPage(c *auction.Campaign) auction.Reason {
	n := 0
	for _, id := range v.seen {
		if id == c.ID {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	if most, _ := v.caps.deps.Campaigns.FrequencyCap(uuid.UUID(c.ID)); most <= 0 || n < most {
		return ""
	}
	return auction.FrequencyCapped
}

func (e *exposure) counts(now int64) bool { return e.confirmed || now < e.until }

// RetryAfter returns when an ad may be shown again: after turns of the conversation, with seconds
// as an estimate, or when an unconfirmed decision expires, or at midnight UTC. It returns 0 if
// nothing was refused.
func (v *Visit) RetryAfter() (seconds, turns int) {
	if turns = v.Wait(); turns > 0 {
		return turns * int(turnTakes/time.Second), turns
	}
	if v.soonest == 0 {
		return 0, 0
	}
	return int(max(1, v.soonest-v.now.Unix())), 0
}

// End counts the winner of auction id, nil for none, and unlocks the session.
func (v *Visit) End(id uuid.UUID, winner *auction.Campaign) {
	s := v.session
	if s == nil {
		return
	}
	v.session = nil
	defer s.mu.Unlock()
	if winner == nil {
		return
	}
	if most, _ := v.caps.deps.Campaigns.FrequencyCap(uuid.UUID(winner.ID)); most <= 0 && !v.turned {
		return // its exposures never matter
	}
	e := campaign.Exposure{
		Kind: campaign.Decided, Session: v.key, Day: v.day, Auction: id, Campaign: uuid.UUID(winner.ID),
		Until: v.now.Add(v.pending).Truncate(time.Second), Turn: uint16(min(v.turn, MaxTurn)),
	}
	s.take(&e)
	v.caps.queue(e)
}

// take counts one exposure. A known exposure changes nothing. The lock is held.
func (s *session) take(e *campaign.Exposure) {
	s.last = max(s.last, int(e.Turn))
	id := auction.ID(e.Campaign)
	exposures := s.exposures[id]
	for i := range exposures {
		if exposures[i].auction == e.Auction {
			exposures[i].confirmed = exposures[i].confirmed || e.Kind == campaign.Confirmed
			return
		}
	}
	if exposures == nil && len(s.exposures) >= maxCampaigns {
		return
	}
	if s.exposures == nil {
		s.exposures = make(map[auction.ID][]exposure)
	}
	s.exposures[id] = append(
		exposures, exposure{auction: e.Auction, until: e.Until.Unix(), confirmed: e.Kind == campaign.Confirmed},
	)
}

// confirm confirms a known decision. A beacon cannot create one, because it names its session
// itself.
func (s *session) confirm(e *campaign.Exposure) {
	exposures := s.exposures[auction.ID(e.Campaign)]
	for i := range exposures {
		if exposures[i].auction == e.Auction {
			exposures[i].confirmed = true
		}
	}
}

// Confirm reports the impression of an auction whose token the caller has verified. of is the
// session that the beacon names; it counts only if that session was shown the ad. Confirm never
// waits.
func (c *Caps) Confirm(of campaign.SessionKey, campaignID, auctionID uuid.UUID) {
	if of == (campaign.SessionKey{}) {
		return
	}
	if most, known := c.deps.Campaigns.FrequencyCap(campaignID); known && most <= 0 {
		return
	}
	date := int32(day.OfUUID(auctionID))
	e := campaign.Exposure{
		Kind: campaign.Confirmed, Session: of, Day: date, Auction: auctionID, Campaign: campaignID,
	}
	c.known(e.Session, func(s *session) { s.confirm(&e) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deps.Store != nil && len(c.delayed) < maxNews {
		c.delayed = append(c.delayed, delayedBeacon{e, c.deps.Now().Add(beaconDelay)})
	}
}

// known calls with under the lock of the session, if this node has it.
func (c *Caps) known(key campaign.SessionKey, with func(*session)) {
	at := &c.shards[key[0]%shards]
	at.mu.Lock()
	s, ok := at.sessions.Peek(key)
	at.mu.Unlock()
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		with(s)
	}
}

// session returns the session, with the counts of the other nodes.
func (c *Caps) session(ctx context.Context, key campaign.SessionKey, date int32) *session {
	at := &c.shards[key[0]%shards]
	at.mu.Lock()
	s, ok := at.sessions.Get(key)
	if !ok {
		// Add it to the table before reading it, so that no news in between is lost.
		s = new(session)
		at.sessions.Add(key, s)
	}
	at.mu.Unlock()
	if c.deps.Store == nil {
		return s
	}
	lapses := c.lapses.Load() + 1
	s.mu.Lock()
	current := s.read == lapses
	s.mu.Unlock()
	if !current {
		c.fetch(ctx, s, key, date, lapses)
	}
	return s
}

// fetch reads a session. If that fails, the node uses its own counts and tries again on a later
// request.
func (c *Caps) fetch(ctx context.Context, s *session, key campaign.SessionKey, date int32, lapses int64) {
	now := time.Now()
	if now.UnixNano() < c.rest.Load() {
		c.unknown.Inc()
		return
	}
	reading, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	found, turns, err := c.deps.Store.Session(reading, key, date)
	if err != nil {
		c.unknown.Inc()
		if ctx.Err() == nil {
			c.rest.Store(now.Add(trustAgain).UnixNano())
			c.often.Warn(ctx, "frequency caps use this node's counts alone: a session cannot be read", "error", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range found {
		s.take(&found[i])
	}
	s.turns, s.read = max(s.turns, turns), lapses
}

// say queues an exposure to be written and sent to the other nodes.
func (c *Caps) queue(e campaign.Exposure) {
	if c.deps.Store == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.news) < maxNews {
		c.news = append(c.news, e)
	}
}
