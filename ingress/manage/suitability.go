package manage

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/subject"
)

// FlagReader tells of the flags that publishers send and that name no subject; see redis.Flags.
type FlagReader interface {
	// UnknownFlags are those of a publisher, the most frequent first.
	UnknownFlags(ctx context.Context, publisher uuid.UUID) ([]subject.Unknown, error)
}

// suitabilityReply is what a publisher sends that is not understood, and what would be.
type suitabilityReply struct {
	Unknown []subject.Unknown `json:"unknown_flags"`
	Known   []subject.Service `json:"known_flags"`
}

// readSuitability serves GET /api/account/suitability; developer_id names a seat of the caller.
func (a *API) readSuitability(c *gin.Context) error {
	publisher, err := a.developerOf(c)
	if err != nil {
		return err
	}
	reply := suitabilityReply{Unknown: []subject.Unknown{}, Known: subject.KnownFlags()}
	if a.deps.Flags != nil {
		if reply.Unknown, err = a.deps.Flags.UnknownFlags(c.Request.Context(), publisher); err != nil {
			return err
		}
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}
