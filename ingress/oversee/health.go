package oversee

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/link"
	"adnet/internal/obs"
	"adnet/internal/roster"
)

// Health is what a node found when it looked around.
type Health struct {
	Servers    []link.Seen      `json:"servers"` // as `adnet doctor` has them
	Settlement Settlement       `json:"settlement"`
	Nodes      []Node           `json:"nodes"`     // that serve, or did within the last hour, as PostgreSQL heard them
	Processes  []roster.Process `json:"processes"` // that said within a minute that they run
	Jobs       []roster.Job     `json:"jobs"`      // that recur
	Problems   []string         `json:"problems"`
}

// Settlement is how far the log is applied.
type Settlement struct {
	Behind     *int64 `json:"behind"` // records that wait; null when it could not be found out
	Partitions int    `json:"partitions"`
}

// Node is one that serves ads, or did.
type Node struct {
	Name    string    `json:"name"`
	HeardAt time.Time `json:"heard_at"`
	Ended   bool      `json:"ended"` // in order
}

// looked keeps what was found, for who asks soon after.
type looked struct {
	mu    sync.Mutex // guards the rest; held while a look goes on, so that there is one at a time
	found Health
	at    time.Time
}

const (
	lookEvery = 30 * time.Second // a look connects anew, and writes a record of a few bytes
	lookLimit = 20 * time.Second
)

type healthReply struct {
	Health
	Node   obs.Report `json:"node"` // that answers
	Verify *runReply  `json:"verify"`
	AsOf   time.Time  `json:"as_of"`
}

// health serves GET /api/admin/health.
func (a *API) health(c *gin.Context) error {
	if _, err := a.deps.Auth.Administrator(c); err != nil {
		return err
	}
	reply := healthReply{Node: a.deps.Ready()}
	reply.Health, reply.AsOf = a.look(c.Request.Context())
	runs, err := a.deps.Ledger.Verifications(c.Request.Context(), 1)
	switch {
	case err != nil: // PostgreSQL is away, which is just what this page must be able to say
	case len(runs) > 0:
		newest := answerRun(&runs[0], a.deps.Now(), false)
		reply.Verify = &newest
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}

// look answers what was found at most [lookEvery] ago.
func (a *API) look(ctx context.Context) (Health, time.Time) {
	a.seen.mu.Lock()
	defer a.seen.mu.Unlock()
	if now := a.deps.Now(); a.seen.at.IsZero() || now.Sub(a.seen.at) >= lookEvery {
		// Who asked may go away: others wait for the same answer.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
		defer stop()
		a.seen.found, a.seen.at = a.deps.Look(ctx), now.UTC()
	}
	return a.seen.found, a.seen.at
}
