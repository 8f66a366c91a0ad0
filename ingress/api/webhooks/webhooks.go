// Package webhooks serves the endpoints at which accounts get events, and the log of deliveries. The
// consumers send.
package webhooks

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/process/schedule"
)

// Deps holds the dependencies of the endpoints.
type Deps struct {
	Store webhook.Store
	// Check reports what is wrong with a URL; see outbound.Client.
	Check func(url string) error
	Now   func() time.Time
}

// API serves /api/webhooks.
type API struct{ deps Deps }

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

const mostDeliveries = 100

var (
	reads   = httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	changes = httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	pages = httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Params: httpapi.Params{
			"state": httpapi.WordForm(outbox.States...), "limit": httpapi.NumberForm(1, mostDeliveries),
			"offset": httpapi.NumberForm(0, httpapi.MaxOffset),
		},
	}
)

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/webhooks", httpapi.Do(a.list), reads)
	s.Handle(http.MethodPost, "/api/webhooks", httpapi.Do(a.create), changes)
	s.Handle(http.MethodPatch, "/api/webhooks/:id", httpapi.Do(a.update), changes)
	s.Handle(http.MethodDelete, "/api/webhooks/:id", httpapi.Do(a.remove), changes)
	s.Handle(http.MethodPost, "/api/webhooks/:id/rotate", httpapi.Do(a.rotate), changes)
	s.Handle(http.MethodGet, "/api/webhooks/:id/deliveries", httpapi.Do(a.deliveries), pages)
	s.Handle(http.MethodPost, "/api/webhooks/:id/replay", httpapi.Do(a.replay), changes)
}

// endpoint is an endpoint as its owner reads it. The secret is shown once, by create and rotate.
type endpoint struct {
	ID          uuid.UUID       `json:"id"`
	URL         string          `json:"url"`
	Description string          `json:"description"`
	Events      []webhook.Event `json:"events"`
	Enabled     bool            `json:"enabled"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	FormerSigns time.Time       `json:"former_secret_until,omitzero"`
	ShownSecret string          `json:"secret,omitempty"`
}

func (a *API) answer(e webhook.Endpoint) endpoint {
	shown := endpoint{
		ID: e.ID, URL: e.URL, Description: e.Description, Events: e.Events, Enabled: e.Enabled, CreatedAt: e.CreatedAt,
		UpdatedAt: e.UpdatedAt,
	}
	if shown.Events == nil {
		shown.Events = []webhook.Event{}
	}
	if len(e.Secrets(a.deps.Now())) > 1 {
		shown.FormerSigns = e.FormerEnds
	}
	return shown
}

// answerSecret also shows the newest secret.
func (a *API) answerSecret(e webhook.Endpoint) endpoint {
	shown := a.answer(e)
	shown.ShownSecret = string(e.Secret)
	return shown
}

// list serves GET /api/webhooks.
func (a *API) list(c *gin.Context, caller account.User, _ httpapi.None) (httpapi.Object, error) {
	list, err := a.deps.Store.Endpoints(c.Request.Context(), caller.ID)
	if err != nil {
		return nil, err
	}
	shown := make([]endpoint, len(list))
	for i, e := range list {
		shown[i] = a.answer(e)
	}
	return httpapi.Object{"webhooks": shown, "events": webhook.Events, "limit": webhook.MaxEndpoints}, nil
}

// settings are the fields that an owner sets; nil leaves one as it is.
type settings struct {
	URL         *string          `json:"url"`
	Description *string          `json:"description"`
	Events      *[]webhook.Event `json:"events"`
	Enabled     *bool            `json:"enabled"`
}

// apply changes e. Errors: errs.InvalidRequest.
func (in *settings) apply(e *webhook.Endpoint, check func(string) error) error {
	if in.URL != nil {
		if err := check(*in.URL); err != nil {
			return errs.New(errs.InvalidRequest, "url %s", err).With("field", "url")
		}
		e.URL = *in.URL
	}
	if in.Description != nil {
		e.Description = *in.Description
	}
	if in.Events != nil {
		e.Events = *in.Events
	}
	if in.Enabled != nil {
		e.Enabled = *in.Enabled
	}
	return e.Normalize()
}

// create serves POST /api/webhooks.
func (a *API) create(c *gin.Context, caller account.User, in settings) (reply httpapi.Reply, err error) {
	now := a.deps.Now().UTC()
	e := webhook.Endpoint{
		AccountID: caller.ID, Enabled: true, CreatedAt: now, UpdatedAt: now, Secret: webhook.NewSecret(),
	}
	if in.URL == nil {
		in.URL = new(string)
	}
	if err := in.apply(&e, a.deps.Check); err != nil {
		return reply, err
	}
	if e.ID, err = uuid.NewV7(); err != nil {
		return reply, err
	}
	if err := a.deps.Store.CreateEndpoint(c.Request.Context(), e); err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusCreated, a.answerSecret(e)), nil
}

// update serves PATCH /api/webhooks/{id}.
func (a *API) update(c *gin.Context, caller account.User, in httpapi.Of[settings]) (endpoint, error) {
	e, err := a.deps.Store.UpdateEndpoint(
		c.Request.Context(), caller.ID, in.ID, func(e *webhook.Endpoint) error {
			e.UpdatedAt = a.deps.Now().UTC()
			return in.In.apply(e, a.deps.Check)
		},
	)
	return a.answer(e), err
}

// remove serves DELETE /api/webhooks/{id}.
func (a *API) remove(c *gin.Context, caller account.User, in httpapi.ID) (httpapi.Object, error) {
	err := a.deps.Store.DeleteEndpoint(c.Request.Context(), caller.ID, in.ID)
	return httpapi.Object{"id": in.ID, "deleted": true}, err
}

// rotate serves POST /api/webhooks/{id}/rotate.
func (a *API) rotate(c *gin.Context, caller account.User, in httpapi.ID) (endpoint, error) {
	now := a.deps.Now().UTC()
	e, err := a.deps.Store.UpdateEndpoint(
		c.Request.Context(), caller.ID, in.ID, func(e *webhook.Endpoint) error {
			e.Rotate(webhook.NewSecret(), now)
			e.UpdatedAt = now
			return nil
		},
	)
	return a.answerSecret(e), err
}

// delivery is a message as the endpoint's owner reads it.
type delivery struct {
	ID        uuid.UUID    `json:"id"` // the header webhook-id
	Event     string       `json:"event"`
	State     outbox.State `json:"state"`
	Attempts  int          `json:"attempts"`
	Status    int          `json:"status,omitzero"`
	Problem   string       `json:"problem,omitempty"`
	Payload   string       `json:"payload"`
	CreatedAt time.Time    `json:"created_at"`
	TriedAt   time.Time    `json:"tried_at,omitzero"`
	NextAt    time.Time    `json:"next_attempt_at,omitzero"`
	EndedAt   time.Time    `json:"ended_at,omitzero"`
}

// deliveries serves GET /api/webhooks/{id}/deliveries.
func (a *API) deliveries(c *gin.Context, caller account.User, in httpapi.Of[httpapi.Page]) (httpapi.Object, error) {
	list, err := a.deps.Store.Deliveries(c.Request.Context(), caller.ID, in.ID, webhook.Page{
		State: outbox.State(c.Query("state")), Limit: in.In.Limit + 1, Offset: in.In.Offset,
	})
	if err != nil {
		return nil, err
	}
	list, reply := httpapi.Paged(list, in.In)
	shown := make([]delivery, len(list))
	for i := range list {
		m := &list[i]
		shown[i] = delivery{
			ID: m.ID, Event: m.Kind, State: m.State, Attempts: m.Attempts, Status: m.Status, Problem: m.Problem,
			Payload: string(m.Payload), CreatedAt: m.CreatedAt, TriedAt: m.TriedAt, EndedAt: m.EndedAt,
		}
		if m.State == outbox.Waiting {
			shown[i].NextAt = m.DueAt
		}
	}
	reply["deliveries"] = shown
	return reply, nil
}

type replayed struct {
	Delivery string `json:"delivery_id"`
}

// replay serves POST /api/webhooks/{id}/replay. A webhook of another account is unknown, whatever
// the body.
func (a *API) replay(c *gin.Context, caller account.User, in httpapi.Of[replayed]) (httpapi.Object, error) {
	own, err := a.deps.Store.Endpoints(c.Request.Context(), caller.ID)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(own, func(e webhook.Endpoint) bool { return e.ID == in.ID }) {
		return nil, webhook.ErrUnknown
	}
	message, err := httpapi.ParseID("delivery_id", in.In.Delivery)
	if err != nil {
		return nil, err
	}
	err = a.deps.Store.Replay(c.Request.Context(), caller.ID, in.ID, message, a.deps.Now().UTC())
	return httpapi.Object{"id": message, "state": outbox.Waiting}, err
}
