package manage

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign/subject"
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

func (a *API) mountSuitability(s *httpapi.Server) {
	ofPublisher := with(reads, httpapi.Params{"developer_id": httpapi.IDForm, "key": httpapi.IDForm})
	ofPublisher.Auth = httpapi.UserToken | httpapi.PublisherKey
	s.Handle(http.MethodGet, "/api/account/suitability", httpapi.Do(a.readSuitability), ofPublisher)
	s.Handle(http.MethodGet, "/api/suitability/subjects", httpapi.Open(a.subjects), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone,
		Params: httpapi.Params{"language": httpapi.WordForm("en", "de")},
	})
	s.Handle(http.MethodGet, "/api/stats/suitability", httpapi.Do(a.refusals), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken | httpapi.PublisherKey, Scans: true,
		Params: ofDays(httpapi.Params{"developer_id": httpapi.IDForm, "key": httpapi.IDForm}),
	})
	s.Handle(http.MethodGet, "/api/admin/suitability", httpapi.Do(a.networkRefusals), ofNetwork())
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
