package webhook

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/outbound/outbox"
)

// The limits of an account's endpoints.
const (
	MaxEndpoints   = 5
	MaxDescription = 200 // code points
)

// Endpoint is an address to which an account gets events.
type Endpoint struct {
	ID          uuid.UUID
	AccountID   uuid.UUID
	URL         string
	Description string
	Events      []Event // none stands for all, also for later ones
	Enabled     bool
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Secret      Secret
	Former      Secret    // signs beside Secret until FormerEnds
	FormerEnds  time.Time // zero without a former secret
}

// Normalize checks and orders the fields that an owner sets; the URL is checked by the client that
// sends. Errors: errs.InvalidRequest.
func (e *Endpoint) Normalize() error {
	e.Description = strings.TrimSpace(e.Description)
	if utf8.RuneCountInString(e.Description) > MaxDescription || !utf8.ValidString(e.Description) ||
		strings.ContainsFunc(e.Description, unicode.IsControl) {
		return errs.New(
			errs.InvalidRequest, "description must have at most %d characters, without control characters", MaxDescription,
		).With("field", "description")
	}
	for i, event := range e.Events {
		if !slices.Contains(Events, string(event)) {
			return errs.New(
				errs.InvalidRequest, "events[%d] must be one of %s", i, strings.Join(Events, ", "),
			).At("events", i)
		}
	}
	slices.Sort(e.Events)
	e.Events = slices.Compact(e.Events)
	return nil
}

// Wants reports whether e gets an event.
func (e *Endpoint) Wants(event Event) bool {
	return e.Enabled && (len(e.Events) == 0 || slices.Contains(e.Events, event))
}

// Secrets returns the secrets that sign a message at a time, the newest first.
func (e *Endpoint) Secrets(at time.Time) []Secret {
	if e.Former != "" && at.Before(e.FormerEnds) {
		return []Secret{e.Secret, e.Former}
	}
	return []Secret{e.Secret}
}

// Overlap is how long after a rotation the former secret signs too.
const Overlap = 24 * time.Hour

// Rotate gives e another secret. The former one signs for [Overlap]; one that it had replaced ends.
func (e *Endpoint) Rotate(next Secret, at time.Time) {
	e.Former, e.FormerEnds, e.Secret = e.Secret, at.Add(Overlap), next
}

// Errors of endpoints.
var (
	ErrUnknown = errs.New(errs.NotFound, "there is no such webhook")
	ErrEnough  = errs.New(
		errs.Conflict, "there are %d webhooks already: change or delete one of them", MaxEndpoints,
	).With("limit", MaxEndpoints)
	ErrNoDelivery   = errs.New(errs.NotFound, "there is no such delivery: deliveries are kept for 7 days")
	ErrStillWaiting = errs.New(errs.InvalidState, "the delivery still waits for its next attempt")
	ErrOff          = errs.New(errs.InvalidState, "the webhook is off: set enabled to true first")
)

// Store stores endpoints, and lists their messages. Every method with an account returns
// errs.NotFound for an endpoint of another one.
type Store interface {
	// Endpoints lists an account's endpoints, oldest first.
	Endpoints(ctx context.Context, account uuid.UUID) ([]Endpoint, error)
	// CreateEndpoint stores a new endpoint. Errors: [ErrEnough], errs.NotFound without the account.
	CreateEndpoint(ctx context.Context, e Endpoint) error
	// UpdateEndpoint runs edit on a copy of the locked endpoint and stores the result. Messages that
	// wait for an endpoint that is turned off are dropped.
	UpdateEndpoint(ctx context.Context, account, id uuid.UUID, edit func(*Endpoint) error) (Endpoint, error)
	// DeleteEndpoint removes an endpoint with its messages.
	DeleteEndpoint(ctx context.Context, account, id uuid.UUID) error
	// Deliveries returns a page of an endpoint's messages, newest first.
	Deliveries(ctx context.Context, account, endpoint uuid.UUID, p Page) ([]outbox.Message, error)
	// Replay makes a message that ended wait again. Errors: [ErrNoDelivery], [ErrStillWaiting],
	// [ErrOff].
	Replay(ctx context.Context, account, endpoint, message uuid.UUID, at time.Time) error
	// Targets returns the endpoints with the ids; those that are gone are missing.
	Targets(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Endpoint, error)
}

// Page selects messages.
type Page struct {
	State         outbox.State // empty for all
	Limit, Offset int
}

// shown holds the fields of an endpoint that the audit log may contain: never a secret. The URL may
// contain one, so only its host is shown.
type shown struct {
	ID      uuid.UUID `json:"id"`
	Host    string    `json:"host"`
	Events  []Event   `json:"events"`
	Enabled bool      `json:"enabled"`
	Secret  string    `json:"secret"`
}

// Entry returns the entry of an endpoint's change in the audit log. before is nil for a creation,
// after for a removal.
func Entry(before, after *Endpoint) auditlog.Entry {
	of := after
	change := auditlog.Change{}
	if before != nil {
		of, change.Before = cmp.Or(after, before), before.shown("(secret)")
	}
	if after != nil {
		secret := "(secret)"
		if before != nil && before.Secret != after.Secret {
			secret = "(changed)"
		}
		change.After = after.shown(secret)
	}
	return auditlog.Entry{
		TargetKind: auditlog.TargetUser, TargetID: of.AccountID.String(), OwnerID: of.AccountID,
		Changes: map[string]auditlog.Change{"webhook": change},
	}
}

func (e *Endpoint) shown(secret string) shown {
	return shown{e.ID, hostOf(e.URL), e.Events, e.Enabled, secret}
}

// ReplayEntry returns the entry of a replay in the audit log.
func ReplayEntry(e *Endpoint, message uuid.UUID) auditlog.Entry {
	return auditlog.Entry{
		TargetKind: auditlog.TargetUser, TargetID: e.AccountID.String(), OwnerID: e.AccountID,
		Changes: map[string]auditlog.Change{"webhook_replay": {After: map[string]any{"id": e.ID, "delivery": message}}},
	}
}
