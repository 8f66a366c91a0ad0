package manage

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/auditlog"
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

// auditLog serves GET /api/audit: an owner sees entries about their own account, an administrator
// all entries.
func (a *API) auditLog(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	q, err := auditQuery(c, caller)
	if err != nil {
		return err
	}
	entries, err := a.deps.Audit.AuditLog(c.Request.Context(), q)
	if err != nil {
		return err
	}
	if entries == nil {
		entries = []auditlog.Entry{}
	}
	reply := map[string]any{"entries": entries, "next": nil}
	if len(entries) == q.Limit {
		reply["next"] = entries[len(entries)-1].Seq
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}

func auditQuery(c *gin.Context, caller account.User) (q auditlog.Query, err error) {
	if q.OwnerID, err = optionalID(c, "owner_id"); err != nil {
		return q, err
	}
	if !caller.IsAdmin() {
		if q.OwnerID != uuid.Nil && q.OwnerID != caller.ID {
			return q, errs.New(errs.Forbidden, "owner_id must be your own")
		}
		q.OwnerID = caller.ID
	}
	if q.ActorID, err = optionalID(c, "actor_id"); err != nil {
		return q, err
	}
	if !caller.IsAdmin() && q.ActorID != uuid.Nil && q.ActorID != caller.ID {
		return q, errs.New(errs.Forbidden, "actor_id must be your own")
	}
	q.TargetKind, q.TargetID = c.Query("target_kind"), auditlog.TargetOf(c.Query("target_id"))
	if q.Since, err = optionalTime(c, "since"); err != nil {
		return q, err
	}
	if q.Until, err = optionalTime(c, "until"); err != nil {
		return q, err
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

func optionalID(c *gin.Context, name string) (uuid.UUID, error) {
	if text := c.Query(name); text != "" {
		return httpapi.ParseID(name, text)
	}
	return uuid.Nil, nil
}

// optionalTime reads an RFC 3339 time or a UTC day.
func optionalTime(c *gin.Context, name string) (time.Time, error) {
	if text := c.Query(name); text != "" {
		return httpapi.ParseTime(text)
	}
	return time.Time{}, nil
}
