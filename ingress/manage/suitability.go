package manage

import (
	"context"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/subject"
)

// FlagReader reads the unknown flags that publishers send; see redis.Flags.
type FlagReader interface {
	// UnknownFlags returns the flags of a publisher that match no subject, the most frequent first.
	UnknownFlags(ctx context.Context, publisher uuid.UUID) ([]subject.Unknown, error)
}

// suitabilityReply lists a publisher's unknown flags, and the known ones.
type suitabilityReply struct {
	Unknown []subject.Unknown `json:"unknown_flags"`
	Known   []subject.Service `json:"known_flags"`
}

// readSuitability serves GET /api/account/suitability. developer_id names a seat of the caller.
func (a *API) readSuitability(
	c *gin.Context, caller account.User, _ httpapi.None,
) (reply suitabilityReply, err error) {
	publisher, err := developerOf(c, caller)
	if err != nil {
		return reply, err
	}
	reply = suitabilityReply{Unknown: []subject.Unknown{}, Known: subject.KnownFlags()}
	if a.deps.Flags != nil {
		reply.Unknown, err = a.deps.Flags.UnknownFlags(c.Request.Context(), publisher)
	}
	return reply, err
}
