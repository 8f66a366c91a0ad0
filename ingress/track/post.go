package track

import (
	"context"
	"encoding/hex"
	"net/http"
	"regexp"
	"time"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/schemas/event"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// Seen remembers which events were posted before, so that a reply can say `deduped: true`. It is for
// replies only: what is billed is decided by settlement's unique index.
type Seen interface {
	Seen(ctx context.Context, key string, life time.Duration) (first bool, err error)
}

// trackRequest is the body of POST /api/track, both its forms.
type trackRequest struct {
	EventType         string        `json:"event_type"`
	Event             string        `json:"event"`
	CampaignID        string        `json:"campaign_id"`
	DeveloperID       string        `json:"developer_id"`
	Dev               string        `json:"dev"`
	Format            string        `json:"format"`
	IntegrationMethod string        `json:"integration_method"`
	Session           string        `json:"session"`
	AuctionID         string        `json:"auction_id"`
	ConversionType    string        `json:"conversion_type"`
	Value             *money.Micros `json:"value"` // USD
	Currency          string        `json:"currency"`
	ExternalID        string        `json:"external_id"`
}

// trackReply answers both forms; the conversion fields only a conversion.
type trackReply struct {
	Tracked        bool          `json:"tracked"`
	Event          string        `json:"event"`
	CampaignID     string        `json:"campaign_id"`
	Deduped        bool          `json:"deduped,omitzero"` // the same event was posted before; nothing is counted twice
	AuctionID      string        `json:"auction_id,omitempty"`
	ConversionType string        `json:"conversion_type,omitempty"`
	Value          *money.Micros `json:"value,omitempty"`
	Currency       string        `json:"currency,omitempty"`
	ExternalID     string        `json:"external_id,omitempty"`
}

const (
	maxConversionType = 64
	maxExternalID     = 128
)

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`) // ISO 4217

// post serves POST /api/track: the JSON form of a beacon, and conversions.
func (t *Tracker) post(c *gin.Context) error {
	var in trackRequest
	if err := httpapi.Decode(c, httpapi.MaxBody, &in); err != nil {
		return err
	}
	what, err := t.claimOf(c, &in)
	if err != nil {
		return err
	}
	e, err := t.take(what)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, t.reply(c.Request.Context(), &in, e))
}

func (t *Tracker) claimOf(c *gin.Context, in *trackRequest) (claim, error) {
	name := in.EventType
	if name == "" {
		name = in.Event
	}
	kind, ok := eventTypes[name]
	if !ok {
		return claim{}, errs.New(errs.InvalidRequest, "event_type must be impression, click, close, skip, video_complete or conversion").With("field", "event_type")
	}
	campaignID, err := httpapi.ParseID("campaign_id", in.CampaignID)
	if err != nil {
		return claim{}, err
	}
	what := claim{
		kind: kind, auctionID: in.AuctionID, campaignID: campaignID, session: in.Session,
		format: in.Format, method: in.IntegrationMethod, caller: t.caller(c),
	}
	if what.developer, err = developerOf(in, what.caller); err != nil {
		return claim{}, err
	}
	if kind == event.Type_CONVERSION {
		what.conversion, err = conversionOf(in)
	}
	return what, err
}

// caller is the login that came along, if any: a beacon needs none, so a bad one is no error.
func (t *Tracker) caller(c *gin.Context) *account.User {
	if _, ok := httpapi.Bearer(c); !ok {
		return nil
	}
	user, err := t.deps.Auth.User(c)
	if err != nil {
		return nil
	}
	return &user
}

func developerOf(in *trackRequest, caller *account.User) (uuid.UUID, error) {
	switch {
	case in.DeveloperID != "":
		return httpapi.ParseID("developer_id", in.DeveloperID)
	case in.Dev != "":
		return httpapi.ParseID("dev", in.Dev)
	case caller != nil:
		return caller.DeveloperID, nil
	}
	return uuid.Nil, nil
}

func conversionOf(in *trackRequest) (*event.Conversion, error) {
	switch {
	case in.AuctionID == "":
		return nil, errs.New(errs.InvalidRequest, "auction_id is required for a conversion; it came with the ad").With("field", "auction_id")
	case in.Value != nil && *in.Value < 0:
		return nil, errs.New(errs.InvalidRequest, "value must not be negative").With("field", "value")
	case in.Currency != "" && !currencyCode.MatchString(in.Currency):
		return nil, errs.New(errs.InvalidRequest, "currency must be an ISO 4217 code like USD").With("field", "currency")
	case len(in.ConversionType) > maxConversionType:
		return nil, errs.New(errs.InvalidRequest, "conversion_type must be at most %d bytes", maxConversionType).With("field", "conversion_type")
	case len(in.ExternalID) > maxExternalID:
		return nil, errs.New(errs.InvalidRequest, "external_id must be at most %d bytes", maxExternalID).With("field", "external_id")
	}
	if in.Currency == "" {
		in.Currency = "USD"
	}
	conversion := &event.Conversion{Type: in.ConversionType, Currency: in.Currency, ExternalId: in.ExternalID}
	if in.Value != nil {
		conversion.ValueMicros = int64(*in.Value)
	}
	return conversion, nil
}

// seenWait is how long a reply waits for what it may say about repeats.
const seenWait = 100 * time.Millisecond

// reply says what was taken. deduped is an information: without Redis it is left out.
func (t *Tracker) reply(ctx context.Context, in *trackRequest, e *event.Event) trackReply {
	name := wireNames[e.Type]
	out := trackReply{Tracked: true, Event: name, CampaignID: in.CampaignID}
	if e.Conversion != nil {
		out.AuctionID, out.ConversionType, out.ExternalID = in.AuctionID, in.ConversionType, in.ExternalID
		out.Value, out.Currency = in.Value, in.Currency
	}
	if e.Proof != event.Proof_BAD_SIGNATURE { // a forger must not make others' events look repeated
		ctx, cancel := context.WithTimeout(ctx, seenWait)
		defer cancel()
		// What settlement deduplicates by.
		first, err := t.deps.Seen.Seen(ctx, name+":"+hex.EncodeToString(e.AuctionId), t.cfg.Life.Of(name))
		out.Deduped = err == nil && !first
	}
	return out
}
