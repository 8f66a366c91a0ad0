package manage

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

// AuditLog reads the log of changes, and records changes that no store records itself.
type AuditLog interface {
	AuditLog(ctx context.Context, q auditlog.Query) ([]auditlog.Entry, error)
	RecordAudit(ctx context.Context, e auditlog.Entry) error
}

// Page sizes of the audit log.
const (
	auditLimit    = 50
	maxAuditLimit = 500
)

var ofAudit = httpapi.Params{
	"owner_id": httpapi.IDForm, "actor_id": httpapi.IDForm, "target_kind": httpapi.WordForm(auditlog.Targets...),
	"target_id": httpapi.TextForm,
	"since":     httpapi.TimeForm, "until": httpapi.TimeForm, "before": httpapi.NumberForm(1, 1<<53),
	"limit": httpapi.NumberForm(1, maxAuditLimit),
}

func (a *API) mountAudit(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/audit", httpapi.Do(a.auditLog), with(reads, ofAudit))
}

// auditLog serves GET /api/audit: an owner sees entries about their own account without the
// names of other actors, an administrator all entries.
func (a *API) auditLog(c *gin.Context, caller account.User, _ httpapi.None) (httpapi.Object, error) {
	q, err := auditQuery(c, caller)
	if err != nil {
		return nil, err
	}
	entries, err := a.deps.Audit.AuditLog(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	if entries == nil {
		entries = []auditlog.Entry{}
	}
	if !caller.IsAdmin() {
		for i := range entries {
			entries[i] = entries[i].ForOwner(caller.ID)
		}
	}
	reply := httpapi.Object{"entries": entries, "next": nil}
	if len(entries) == q.Limit {
		reply["next"] = entries[len(entries)-1].Seq
	}
	return reply, nil
}

func auditQuery(c *gin.Context, caller account.User) (q auditlog.Query, err error) {
	q = auditlog.Query{
		OwnerID: httpapi.QueryID(c, "owner_id"), ActorID: httpapi.QueryID(c, "actor_id"),
		TargetKind: c.Query("target_kind"), TargetID: auditlog.TargetOf(c.Query("target_id")),
		Since: httpapi.QueryTime(c, "since"), Until: httpapi.QueryTime(c, "until"),
	}
	if !caller.IsAdmin() {
		if q.OwnerID != uuid.Nil && q.OwnerID != caller.ID {
			return q, errs.New(errs.Forbidden, "owner_id must be your own")
		}
		q.OwnerID = caller.ID
		if q.ActorID != uuid.Nil && q.ActorID != caller.ID {
			return q, errs.New(errs.Forbidden, "actor_id must be your own")
		}
	}
	if c.Query("before") != "" {
		before, err := httpapi.QueryInt(c, "before", 0, 1, 1<<53)
		if err != nil {
			return q, err
		}
		q.Before = int64(before)
	}
	q.Limit, err = httpapi.QueryInt(c, "limit", auditLimit, 1, maxAuditLimit)
	return q, err
}
