package oversee

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/ledger"
)

type checkReply struct {
	Name   string `json:"name"`
	Want   int64  `json:"want"`
	Got    int64  `json:"got"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // the first offenders
}

type runReply struct {
	ID        int64        `json:"id"`
	State     string       `json:"state"` // waiting, running, clean, broken, failed or lost
	AskedBy   *uuid.UUID   `json:"asked_by,omitempty"`
	AskedAt   time.Time    `json:"asked_at"`
	StartedAt *time.Time   `json:"started_at,omitempty"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Problem   string       `json:"problem,omitempty"`
	Checks    []checkReply `json:"checks"`
}

// answerRun converts a run for a reply, with its checks only if whole is set.
func answerRun(v *ledger.Verification, now time.Time, whole bool) runReply {
	r := runReply{ID: v.ID, AskedAt: v.AskedAt.UTC(), Problem: v.Problem, Checks: []checkReply{}}
	if v.AskedBy != uuid.Nil {
		r.AskedBy = &v.AskedBy
	}
	if !v.StartedAt.IsZero() {
		r.StartedAt = &v.StartedAt
	}
	if !v.EndedAt.IsZero() {
		r.EndedAt = &v.EndedAt
	}
	switch {
	case v.Clean():
		r.State = "clean"
	case v.Problem != "":
		r.State = "failed"
	case !v.EndedAt.IsZero():
		r.State = "broken"
	case !v.Open(now):
		r.State = "lost"
	case v.StartedAt.IsZero():
		r.State = "waiting"
	default:
		r.State = "running"
	}
	if whole {
		for _, c := range v.Checks {
			r.Checks = append(r.Checks, checkReply{c.Name, c.Want, c.Got, c.OK(), c.Detail})
		}
	}
	return r
}

// verifications serves GET /api/admin/verify: the newest runs, and the checks of the newest
// finished one.
func (a *API) verifications(c *gin.Context, _ account.User, _ httpapi.None) (httpapi.Object, error) {
	limit, err := httpapi.QueryInt(c, "limit", 10, 1, maxRuns)
	if err != nil {
		return nil, err
	}
	list, err := a.deps.Ledger.Verifications(c.Request.Context(), limit)
	if err != nil {
		return nil, err
	}
	now, ended := a.deps.Now(), false
	runs := make([]runReply, len(list))
	for i := range list {
		whole := !ended && !list[i].EndedAt.IsZero()
		runs[i] = answerRun(&list[i], now, whole)
		ended = ended || whole
	}
	return httpapi.Object{"runs": runs, "as_of": now.UTC()}, nil
}

// askVerification serves POST /api/admin/verify: the consumers start a run within seconds. A run
// reads the whole ledger, so only one runs at a time, with ten minutes between two.
func (a *API) askVerification(c *gin.Context, admin account.User, _ httpapi.None) (reply httpapi.Reply, err error) {
	v, err := a.deps.Ledger.AskVerification(c.Request.Context(), admin.ID, a.deps.Now().UTC())
	if err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusAccepted, httpapi.Object{"run": answerRun(&v, a.deps.Now(), false)}), nil
}
