// Package limits protects the serving path: request rates per caller. Frequency caps and pacing plug
// into the auction's gate and have their place here too.
//
// Rates are kept per process. A limit is a promise to the operator, not to the caller: N nodes let
// up to N times the rate through.
package limits

import (
	"math"
	"sync"
	"time"

	"adnet/internal/errs"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// Config is the settings of the rate limit.
type Config struct {
	PerMinute int `name:"rate-per-minute" env:"ADNET_RATE_PER_MINUTE" default:"1000" help:"Ad requests per minute and publisher; 0 switches the limit off."`
	Burst     int `name:"rate-burst" env:"ADNET_RATE_BURST" default:"1000" help:"Ad requests that a publisher may send at once."`
}

// maxCallers bounds the memory; the longest silent caller is forgotten first, which only forgives it.
const maxCallers = 100_000

// Rate limits callers by id.
type Rate struct {
	cfg     Config
	mu      sync.Mutex
	callers *simplelru.LRU[uuid.UUID, *rate.Limiter]
}

// NewRate makes a Rate.
func NewRate(cfg Config) (*Rate, error) {
	callers, err := simplelru.NewLRU[uuid.UUID, *rate.Limiter](maxCallers, nil)
	if err != nil {
		return nil, err
	}
	return &Rate{cfg: cfg, callers: callers}, nil
}

// Allow counts one request of caller at now. errs.RateLimited, with retry_after in seconds, when the
// caller has used its burst and comes faster than its rate.
func (r *Rate) Allow(caller uuid.UUID, now time.Time) error {
	if r.cfg.PerMinute <= 0 {
		return nil
	}
	r.mu.Lock()
	limiter, ok := r.callers.Get(caller)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(float64(r.cfg.PerMinute)/60), max(1, r.cfg.Burst))
		r.callers.Add(caller, limiter)
	}
	r.mu.Unlock()
	if limiter.AllowN(now, 1) {
		return nil
	}
	wait := math.Ceil((1 - limiter.TokensAt(now)) * 60 / float64(r.cfg.PerMinute))
	return errs.New(errs.RateLimited, "more than %d ad requests per minute; slow down and add jitter", r.cfg.PerMinute).
		With("retry_after", max(1, int(wait)))
}
