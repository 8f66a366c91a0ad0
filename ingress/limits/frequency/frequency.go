// Package frequency keeps ads from following people: a campaign is shown to one session at most so
// often in a UTC day, and a conversation is not interrupted by ads at its beginning or all the
// time.
//
// A decision counts at once, under the auction's id. It counts for good when its impression comes
// (under the same id, so a repeated beacon counts once), and no more when none came for
// ADNET_CAP_PENDING; an impression that comes after that still counts, as long as its token lives.
// Sessions are the publisher's: the same id with another publisher is another session. A reader who
// did not consent has none, and nothing is kept: then only what the page says that it has shown
// itself is capped ([Ask.Seen]).
//
// Nothing here waits for Redis, but for the first request of a session on a node, at most 20 ms.
// After that the node knows the session: it keeps it in memory, writes behind, and hears from the
// others what they decided within about 100 ms. So a session whose requests hit n nodes within that
// time can be shown a campaign up to n times as often as the cap says; one that pauses for 100 ms
// between its requests never more than the cap. While Redis is away each node caps by what it knows
// itself.
//
// # Not obvious
//
// Decisions and confirmations are written behind every 50 ms under the auction's id (other nodes
// are listened to every 200 ms after a second without news). A confirmation waits a second, so that
// it never overtakes its decision; it confirms only what was decided, because a beacon says for
// itself which session it is of. Sessions come as keyed hashes (internal/token), never as ids.
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
	"adnet/internal/obs"
	"adnet/internal/schedule"
)

// Config is the settings of frequency caps and of the pacing of conversations.
type Config struct {
	Pending   time.Duration `name:"cap-pending" env:"ADNET_CAP_PENDING" default:"10m" help:"How long an ad whose impression was not reported counts for its frequency cap."`
	FirstTurn int           `name:"first-ad-turn" env:"ADNET_FIRST_AD_TURN" default:"1" help:"First turn of a conversation that may have an ad; a request's first_ad_turn counts before it."`
	TurnGap   int           `name:"turns-between-ads" env:"ADNET_TURNS_BETWEEN_ADS" default:"1" help:"Turns from one ad of a conversation to the next; a request's turns_between_ads counts before it."`
}

// Bounds.
const (
	// MaxTurn is the highest turn of a conversation and of its settings.
	MaxTurn = 10_000
	// turnTakes is how long a turn of a conversation takes roughly, for retry_after in seconds.
	turnTakes = 20 * time.Second
	// readWait is how long the first request of a session waits for what other nodes know of it.
	readWait = 20 * time.Millisecond
	// trustAgain is how long a Redis that did not answer is not asked.
	trustAgain = time.Second
	shards     = 16
	// maxSessions bounds memory; the session that was silent for longest is forgotten and read
	// again when it comes.
	maxSessions = 100_000 / shards
	// maxCampaigns is how many campaigns of one session are counted: one that stands for a crowd
	// must not grow for ever.
	maxCampaigns = 2_000
)

// Campaigns tells the cap of a campaign; see catalog.Catalog.
type Campaigns interface {
	// FrequencyCap is in impressions per session and UTC day; 0 means no cap.
	FrequencyCap(id uuid.UUID) (impressions int, known bool)
}

// Store keeps sessions for all nodes; see redis.Sessions.
type Store interface {
	Session(ctx context.Context, session campaign.SessionKey, date int32) ([]campaign.Exposure, int, error)
	Record(ctx context.Context, list []campaign.Exposure) error
}

// Exchange carries news between nodes; see redis.Exchange.
type Exchange interface {
	Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error
}

// Deps are what the caps work with. Without Store and Exchange they are this node's own.
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
	rest   atomic.Int64 // UnixNano until which the store is not asked
	lapses atomic.Int64 // times that news may have been missed: what was read before must be read again

	mu      sync.Mutex
	news    []campaign.Exposure // to be written and told
	delayed []delayedBeacon     // oldest first
	heard   time.Time           // when there were news last, here or from elsewhere

	failures prometheus.Counter
	unknown  prometheus.Counter
}

// delayedBeacon is a confirmation that waits until its decision is known everywhere: a beacon may
// reach another node sooner than the news of its ad. Nothing is lost by it, as the decision counts
// meanwhile.
type delayedBeacon struct {
	campaign.Exposure
	due time.Time
}

type shard struct {
	mu       sync.Mutex
	sessions *simplelru.LRU[campaign.SessionKey, *session]
}

// session is one day of a session. An auction holds the lock while it decides, so that two of the
// same session cannot both take the last place under a cap.
type session struct {
	mu    sync.Mutex
	read  int64 // lapses at the last reading, plus 1
	shown map[auction.ID][]exposure
	turns int // counted
	last  int // turn of the last ad, 0 for none
}

type exposure struct {
	auction   uuid.UUID
	until     int64 // unix seconds
	confirmed bool
}

// New makes the caps. It starts nothing. Errors: a setting out of range.
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
		Help: "Exchanges of frequency caps with the other nodes that failed.",
	}))
	c.unknown = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_caps_unread_total",
		Help: "Requests that were capped by this node's knowledge alone because Redis did not answer in 20 ms.",
	}))
	return c, nil
}

// Ask is a request as the caps see it.
type Ask struct {
	Session   campaign.SessionKey // of the UTC day of Now; zero without one
	Seen      []auction.ID        // campaigns that the page has shown, one entry a time; they count without a session
	Turn      int                 // of the conversation, from 1; 0: it is counted, one per request of the session
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
	soonest int64 // unix second at which a cap that refused has room again
	tell    bool  // an ad's turn matters
}

// Begin fills v for one auction and locks its session until End, which must be called. It may wait
// for the store, at most 20 ms, where the session is new here.
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
		tell: first > 1 || gap > 1,
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
		if v.turn == 0 && v.tell {
			v.session.turns++
			v.turn = v.session.turns
			c.say(campaign.Exposure{Kind: campaign.Turned, Session: v.key, Day: v.day})
		}
	}
	if v.turn > 0 && v.tell {
		v.wait = first - v.turn
		if v.session != nil && v.session.last > 0 && v.turn >= v.session.last {
			v.wait = max(v.wait, v.session.last+gap-v.turn)
		}
	}
}

// Wait is in how many turns the conversation may have its next ad; 0 when now.
func (v *Visit) Wait() int { return max(0, v.wait) }

// Check gives auction.FrequencyCapped when the session, or the page without one, has seen c as
// often as its cap says, or "".
func (v *Visit) Check(c *auction.Campaign) auction.Reason {
	if v.session == nil {
		return v.checkPage(c)
	}
	shown := v.session.shown[c.ID]
	if len(shown) == 0 {
		return ""
	}
	most, _ := v.caps.deps.Campaigns.FrequencyCap(uuid.UUID(c.ID))
	if most <= 0 {
		return ""
	}
	now, n, soonest := v.now.Unix(), 0, int64(v.day+1)*86400
	for i := range shown {
		if shown[i].counts(now) {
			n++
			if !shown[i].confirmed {
				soonest = min(soonest, shown[i].until)
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

// checkPage is Check by the word of the page. A page that lies keeps ads from itself, which its
// owner can do by a block as well; nothing of it is kept.
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

// RetryAfter is when an ad may be shown again: after turns of the conversation, of which seconds is
// then an estimate; or when a decision runs out that was not confirmed, or at midnight UTC. 0 when
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

// End counts the winner of the auction id, nil for none, and unlocks the session.
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
	if most, _ := v.caps.deps.Campaigns.FrequencyCap(uuid.UUID(winner.ID)); most <= 0 && !v.tell {
		return // it will never be asked for
	}
	e := campaign.Exposure{
		Kind: campaign.Decided, Session: v.key, Day: v.day, Auction: id, Campaign: uuid.UUID(winner.ID),
		Until: v.now.Add(v.pending).Truncate(time.Second), Turn: uint16(min(v.turn, MaxTurn)),
	}
	s.take(&e)
	v.caps.say(e)
}

// take counts one exposure; a known one changes nothing. The lock is held.
func (s *session) take(e *campaign.Exposure) {
	s.last = max(s.last, int(e.Turn))
	id := auction.ID(e.Campaign)
	shown := s.shown[id]
	for i := range shown {
		if shown[i].auction == e.Auction {
			shown[i].confirmed = shown[i].confirmed || e.Kind == campaign.Confirmed
			return
		}
	}
	if shown == nil && len(s.shown) >= maxCampaigns {
		return
	}
	if s.shown == nil {
		s.shown = make(map[auction.ID][]exposure)
	}
	s.shown[id] = append(
		shown, exposure{auction: e.Auction, until: e.Until.Unix(), confirmed: e.Kind == campaign.Confirmed},
	)
}

// confirm marks a decision that is known; a beacon can make none, as it says for itself which
// session it is of.
func (s *session) confirm(e *campaign.Exposure) {
	shown := s.shown[auction.ID(e.Campaign)]
	for i := range shown {
		if shown[i].auction == e.Auction {
			shown[i].confirmed = true
		}
	}
}

// Confirm says that the impression of an auction came. Who calls has verified the auction's token;
// of is what the beacon says, and counts only where that session was shown the ad. It never
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

// known runs with the lock of a session that this node knows.
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

// session finds the session, with what the other nodes know of it.
func (c *Caps) session(ctx context.Context, key campaign.SessionKey, date int32) *session {
	at := &c.shards[key[0]%shards]
	at.mu.Lock()
	s, ok := at.sessions.Get(key)
	if !ok {
		// It is in the table before it is read, so that no news between is missed.
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

// fetch reads a session. Failing that, the node goes by what it knows and tries again with a later
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
			c.often.Warn(ctx, "frequency caps are this node's own: a session cannot be read", "error", err)
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

// say notes an exposure that must be written and sent to the other nodes.
func (c *Caps) say(e campaign.Exposure) {
	if c.deps.Store == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.news) < maxNews {
		c.news = append(c.news, e)
	}
}
