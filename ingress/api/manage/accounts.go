package manage

import (
	"math"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/account/typed"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Invite   string `json:"invite,omitempty"` // of a registration
	Code     string `json:"code,omitempty"`   // of a login: the second factor, or a recovery code
	Cookie   bool   `json:"cookie,omitempty"` // the console requests a cookie instead of a token
	// MailedCode is the token of a mailed link for a new password, of a login.
	MailedCode string `json:"mailed_code,omitempty"`
}

// registration is the request for a new account.
type registration struct {
	credentials
	Side account.Side `json:"role"` // advertise, publish or both
}

// Read implements [httpapi.Input].
func (in *registration) Read(c *gin.Context) (err error) {
	if err := httpapi.Decode(c, in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	in.Side, err = account.ReadSide("role", in.Side)
	return err
}

// maxInvite is the maximum length of an invitation in bytes.
const maxInvite = 4096

// Read implements [httpapi.Input].
func (in *credentials) Read(c *gin.Context) error {
	if err := httpapi.Decode(c, in); err != nil {
		return err
	}
	return in.check()
}

func (in *credentials) check() error {
	switch {
	case in.Email == "" || in.Password == "":
		return errs.New(errs.InvalidRequest, "email and password are required")
	case len(in.Invite) > maxInvite:
		return errs.New(errs.InvalidRequest, "invite must be at most %d bytes", maxInvite).With("field", "invite")
	case len(in.Code) > typed.MaxCode:
		return errs.New(errs.InvalidRequest, "code must be at most %d bytes", typed.MaxCode).With("field", "code")
	case len(in.MailedCode) > maxToken:
		return errs.New(
			errs.InvalidRequest, "mailed_code must be at most %d bytes", maxToken,
		).With("field", "mailed_code")
	case strings.ContainsRune(in.Email+in.Password, 0): // PostgreSQL texts cannot contain NUL
		return errs.New(errs.InvalidRequest, "email and password must not hold NUL characters")
	}
	return nil
}

func (a *API) login(c *gin.Context, in credentials) (reply httpapi.Reply, err error) {
	if err := a.mayHaveCookie(c, in.Cookie); err != nil {
		return reply, err
	}
	u, err := a.checkLogin(c, in)
	if err != nil {
		return reply, err
	}
	strong, err := a.showFactor(c, u, in.Code)
	if err != nil {
		return reply, err
	}
	if err := a.noteNetwork(c, u); err != nil {
		return reply, err
	}
	return a.answerSession(c, http.StatusOK, opened{user: u, cookie: in.Cookie, strong: strong})
}

func (a *API) register(c *gin.Context, in registration) (reply httpapi.Reply, err error) {
	if err := a.maySignUp(in.credentials); err != nil {
		return reply, err
	}
	if err := a.mayHaveCookie(c, in.Cookie); err != nil {
		return reply, err
	}
	if a.deps.Verify {
		return a.askRegister(c, in)
	}
	ctx, _ := a.asking(c, in.Email)
	u, err := a.deps.Accounts.RegisterAs(ctx, account.Registration{
		Email: in.Email, Password: in.Password, Network: a.network(c), Side: in.Side,
	})
	if err != nil {
		return reply, err
	}
	if err := a.noteNetwork(c, u); err != nil {
		return reply, err
	}
	return a.answerSession(c, http.StatusCreated, opened{user: u, cookie: in.Cookie})
}

// maySignUp checks the operator's registration mode. Errors: errs.Forbidden.
func (a *API) maySignUp(in credentials) error {
	switch a.deps.Signup {
	case SignupClosed:
		return errs.New(errs.Forbidden, "registration is closed; ask the operator for an account")
	case SignupInvite:
		return a.deps.Sessions.CheckInvite(in.Invite, in.Email, a.deps.Now())
	}
	return nil
}

// sessionReply contains both login shapes of the specification.
type sessionReply struct {
	Token   string       `json:"token"`
	Role    account.Role `json:"role"`
	Email   string       `json:"email"`
	Session struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"` // seconds
		TokenType   string `json:"token_type"`
	} `json:"session"`
	User userReply `json:"user"`
}

type keyReply struct {
	ID          uuid.UUID       `json:"id"`
	Key         string          `json:"key,omitempty"` // only in the reply to its creation
	Kind        account.KeyKind `json:"kind"`
	Name        string          `json:"name"`
	Prefix      string          `json:"prefix"`
	DeveloperID uuid.UUID       `json:"developer_id"`
	CampaignID  *uuid.UUID      `json:"campaign_id,omitempty"` // only of a conversion key limited to a campaign
	SeatID      *uuid.UUID      `json:"seat_id,omitempty"`     // only of a seat's keys
	// only of a seatpath key limited to addresses
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	CreatedAt time.Time      `json:"created_at"`
	Learning  bool           `json:"learning"`          // whether ranking may learn from its requests
	Origins   []string       `json:"origins,omitempty"` // only of a browser key
	// only of a browser key whose ads a model reads
	ReadByModels bool       `json:"read_by_models,omitempty"`
	EndsAt       *time.Time `json:"ends_at,omitempty"` // end of the grace period; only of a rotated key
}

func answerKey(k account.Key, plain string) keyReply {
	reply := keyReply{
		ID: k.ID, Key: plain, Kind: k.Kind, Name: k.Name, Prefix: k.Prefix, DeveloperID: k.DeveloperID,
		Addresses: k.Addresses, CreatedAt: k.CreatedAt, Learning: !k.Unlearned, Origins: k.Origins,
		ReadByModels: k.ReadByModels,
	}
	if !k.EndsAt.IsZero() {
		reply.EndsAt = &k.EndsAt
	}
	if k.Kind.OfSeat() {
		reply.SeatID = &k.OwnerID
	}
	if k.CampaignID != uuid.Nil {
		reply.CampaignID = &k.CampaignID
	}
	return reply
}

func (a *API) mountKeys(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/keys", httpapi.Do(a.listKeys), reads)
	s.Handle(http.MethodPost, "/api/keys", httpapi.Do(a.createKey), changes)
	s.Handle(http.MethodDelete, "/api/keys", httpapi.Do(a.revokeKey), with(changes, httpapi.Params{"id": httpapi.IDForm}))
	s.Handle(http.MethodDelete, "/api/keys/:id", httpapi.Do(a.revokeKey), changes)
	s.Handle(http.MethodPost, "/api/keys/:id/rotate", httpapi.Do(a.rotateKey), changes)
}

func (a *API) listKeys(c *gin.Context, caller account.User, _ httpapi.None) (httpapi.Object, error) {
	keys, err := a.deps.Accounts.Working(c.Request.Context(), caller)
	if err != nil {
		return nil, err
	}
	reply := make([]keyReply, len(keys))
	for i, k := range keys {
		reply[i] = answerKey(k, "")
	}
	return httpapi.Object{"keys": reply}, nil
}

type keyRequest struct {
	Kind       account.KeyKind `json:"kind"`
	Name       string          `json:"name"`
	CampaignID *string         `json:"campaign_id"`
	Learning   *bool           `json:"learning"` // default true
	SeatID     *string         `json:"seat_id"`
	Addresses  []string        `json:"addresses"`
	Origins    []string        `json:"origins"`
	Models     bool            `json:"read_by_models"`
}

func (a *API) createKey(c *gin.Context, caller account.User, in keyRequest) (reply httpapi.Reply, err error) {
	want := account.KeyRequest{
		Kind: in.Kind, Name: in.Name, Addresses: in.Addresses, Origins: in.Origins,
		Unlearned: in.Learning != nil && !*in.Learning, ReadByModels: in.Models,
	}
	if in.SeatID != nil {
		if want.SeatID, err = httpapi.ParseID("seat_id", *in.SeatID); err != nil {
			return reply, err
		}
	}
	if in.CampaignID != nil {
		if want.CampaignID, err = a.ownCampaign(c, caller, *in.CampaignID); err != nil {
			return reply, err
		}
	}
	key, err := a.deps.Accounts.CreateKey(c.Request.Context(), caller, want)
	if err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusCreated, answerKey(key.Key, key.Plain)), nil
}

// rotatedKey is the reply to a rotation: the new key, and the end of the old key's grace period.
type rotatedKey struct {
	keyReply
	Replaces struct {
		ID     uuid.UUID `json:"id"`
		EndsAt time.Time `json:"ends_at"`
	} `json:"replaces"`
}

type rotation struct {
	Grace *int64 `json:"grace_seconds"`
}

// rotateKey serves POST /api/keys/{id}/rotate.
func (a *API) rotateKey(
	c *gin.Context, caller account.User, in httpapi.Of[httpapi.Optional[rotation]],
) (reply httpapi.Reply, err error) {
	grace := int64(account.UsualGrace / time.Second)
	if wanted := in.In.In.Grace; wanted != nil {
		grace = min(max(*wanted, -1), math.MaxInt32)
	}
	next, ends, err := a.deps.Accounts.RotateKey(c.Request.Context(), caller, in.ID, time.Duration(grace)*time.Second)
	if err != nil {
		return reply, err
	}
	rotated := rotatedKey{keyReply: answerKey(next.Key, next.Plain)}
	rotated.Replaces.ID, rotated.Replaces.EndsAt = in.ID, ends
	return httpapi.With(http.StatusCreated, rotated), nil
}

// ownCampaign reads the campaign id of a key. The campaign must be the caller's own, even for
// administrators: a key counts for the campaigns of its owner.
func (a *API) ownCampaign(c *gin.Context, caller account.User, text string) (uuid.UUID, error) {
	id, err := httpapi.ParseID("campaign_id", text)
	if err != nil {
		return uuid.Nil, err
	}
	campaign, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	if err != nil {
		return uuid.Nil, err
	}
	if campaign.AdvertiserID != caller.ID {
		return uuid.Nil, errs.New(
			errs.Forbidden, "the campaign belongs to another account",
		).With("field", "campaign_id")
	}
	return id, nil
}

// revokeKey accepts the id in the path, the query or the body.
func (a *API) revokeKey(c *gin.Context, caller account.User, in target) (httpapi.Object, error) {
	if err := a.deps.Accounts.RevokeKey(c.Request.Context(), caller, in.id); err != nil {
		return nil, err
	}
	return httpapi.Object{"id": in.id, "revoked": true}, nil
}

// oneID returns the id of a request that may have it in its URL, in its body or in both.
func oneID(url string, body *string) (uuid.UUID, error) {
	if body == nil {
		return httpapi.ParseID("id", url)
	}
	id, err := httpapi.ParseID("id", *body)
	if err != nil || url == "" {
		return id, err
	}
	same, err := httpapi.ParseID("id", url)
	if err == nil && same != id {
		err = errs.New(
			errs.InvalidRequest, "the id in the body differs from the one in the URL; send only one",
		).With("field", "id")
	}
	return id, err
}

// target is the id in a request: from the path, else the query, else the body. The body may repeat
// the id, and may name the config version that the caller saw.
type target struct {
	id      uuid.UUID
	version *int64 // of the campaign's config
}

// Read implements [httpapi.Input].
func (t *target) Read(c *gin.Context) error {
	text := c.Param("id")
	if text == "" {
		text = c.Query("id")
	}
	var in struct {
		ID      *string `json:"id"`
		Reason  string  `json:"reason"` // stored in the audit log
		Version *int64  `json:"config_version"`
	}
	decode := httpapi.Decode
	if text != "" {
		decode = httpapi.DecodeOptional
	}
	err := decode(c, &in)
	if err != nil {
		return err
	}
	if t.id, err = oneID(text, in.ID); err != nil {
		return err
	}
	if in.Reason != "" {
		reason, err := account.CleanReason(in.Reason)
		if err != nil {
			return err
		}
		auditlog.Because(c.Request.Context(), reason)
	}
	t.version = in.Version
	return nil
}
