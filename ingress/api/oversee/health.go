package oversee

import (
	"context"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/process/link"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
)

// Health is the result of a node's health check.
type Health struct {
	Servers    []link.Seen      `json:"servers"` // as in `adnet doctor`
	Settlement Settlement       `json:"settlement"`
	Nodes      []Node           `json:"nodes"`     // active within the last hour, according to PostgreSQL
	Processes  []roster.Process `json:"processes"` // that reported within the last minute
	Jobs       []roster.Job     `json:"jobs"`      // recurring jobs
	Problems   []string         `json:"problems"`
}

// Settlement is the progress of settlement through the log.
type Settlement struct {
	Behind     *int64 `json:"behind"` // waiting records; null if unknown
	Partitions int    `json:"partitions"`
}

// Node is a current or former ad-serving node.
type Node struct {
	Name    string    `json:"name"`
	HeardAt time.Time `json:"heard_at"`
	Ended   bool      `json:"ended"` // shut down in order
}

// looked caches the result of a check.
type looked struct {
	mu    sync.Mutex // guards the rest; held during a check, so that only one runs at a time
	found Health
	at    time.Time
}

const (
	lookEvery = 30 * time.Second // a check opens connections and writes a record of a few bytes
	lookLimit = 20 * time.Second
)

type healthReply struct {
	Health
	Node   obs.Report `json:"node"` // the node that replies
	Verify *runReply  `json:"verify"`
	AsOf   time.Time  `json:"as_of"`
}

// health serves GET /api/admin/health.
func (a *API) health(c *gin.Context, _ account.User, _ httpapi.None) (healthReply, error) {
	reply := healthReply{Node: a.deps.Ready()}
	reply.Health, reply.AsOf = a.look(c.Request.Context())
	runs, err := a.deps.Ledger.Verifications(c.Request.Context(), 1)
	switch {
	case err != nil: // PostgreSQL is unavailable; the page must still report the rest
	case len(runs) > 0:
		newest := answerRun(&runs[0], a.deps.Now(), false)
		reply.Verify = &newest
	}
	return reply, nil
}

// look returns a result that is at most [lookEvery] old.
func (a *API) look(ctx context.Context) (Health, time.Time) {
	a.seen.mu.Lock()
	defer a.seen.mu.Unlock()
	if now := a.deps.Now(); a.seen.at.IsZero() || now.Sub(a.seen.at) >= lookEvery {
		// Continue if the caller leaves: others wait for the same result.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
		defer stop()
		a.seen.found, a.seen.at = a.deps.Look(ctx), now.UTC()
	}
	return a.seen.found, a.seen.at
}
