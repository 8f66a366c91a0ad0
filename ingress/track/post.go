package track

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/consent"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Seen remembers which events were posted before, so that a reply can say `deduped: true`. It
// serves replies only; settlement's unique index decides what gets billed.
type Seen interface {
	Seen(ctx context.Context, key string, life time.Duration) (first bool, err error)
}

// Report is what a caller says happened to a served ad: the body of POST /api/track, both its
// forms. Other wires fill it from their own fields, so that one set of rules holds on all of them.
type Report struct {
	EventType         string        `json:"event_type"`
	Event             string        `json:"event"`
	CampaignID        string        `json:"campaign_id"`
	DeveloperID       string        `json:"developer_id"`
	Dev               string        `json:"dev"`
	Format            string        `json:"format"`
	IntegrationMethod string        `json:"integration_method"`
	Session           string        `json:"session"`
	AuctionID         string        `json:"auction_id"`
	ClickID           string        `json:"click_id"` // of a conversion: adnet_click, as the landing page got it
	ConversionType    string        `json:"conversion_type"`
	Value             *money.Micros `json:"value"` // USD
	Currency          string        `json:"currency"`
	ExternalID        string        `json:"external_id"`

	Consent consent.Signals `json:"consent"` // the reader's, where it changed since the ad was asked for

	By      Reporter `json:"-"` // the credentials that came along, if any
	Origin  Origin   `json:"-"` // the request; the zero value stands for a caller that is not a browser
	Sandbox bool     `json:"-"` // reported with a sandbox key: without a token the event is a sandbox one

	needsCampaign bool // also when auction_id, which says it, is given
}

// Taken answers a [Report]; the conversion fields only a conversion.
type Taken struct {
	Tracked bool   `json:"tracked"`
	Event   string `json:"event"`
	// left out when neither the report nor a genuine token names it
	CampaignID     string        `json:"campaign_id,omitempty"`
	Deduped        bool          `json:"deduped,omitzero"` // the same event was posted before; nothing is counted twice
	AuctionID      string        `json:"auction_id,omitempty"`
	ConversionType string        `json:"conversion_type,omitempty"`
	Value          *money.Micros `json:"value,omitempty"`
	Currency       string        `json:"currency,omitempty"`
	ExternalID     string        `json:"external_id,omitempty"`
	Verified       *bool         `json:"verified,omitempty"` // false: the conversion is recorded and never charged
}

// Reporter is who sends a report, as far as the credentials say.
type Reporter struct {
	User *account.User   // a login
	Key  *httpapi.Caller // a conversion key
	Page *httpapi.Caller // a browser key
	Err  error           // of credentials that do not work or cannot be judged, which refuses conversions
}

const (
	maxConversionType = 64
	maxExternalID     = 128
)

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`) // ISO 4217

// post serves POST /api/track: the JSON form of a beacon, and conversions.
func (t *Tracker) post(c *gin.Context) error {
	var in Report
	if err := decodeReport(c, &in); err != nil {
		return err
	}
	in.needsCampaign, in.Origin = true, Origin{request: c, posted: true}
	var err error
	if in.By, err = t.reporter(c); err != nil {
		return err
	}
	taken, err := t.Take(c.Request.Context(), &in)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, taken)
}

// Take checks a report and makes its event durable: nil means that it is, as the package promises.
// What the token says is recorded whatever the report says. Errors: errs.InvalidRequest,
// errs.Unavailable.
func (t *Tracker) Take(ctx context.Context, in *Report) (Taken, error) {
	what, err := reportedEventOf(in)
	if err != nil {
		return Taken{}, err
	}
	made, err := t.take(ctx, what)
	if err != nil {
		return Taken{}, err
	}
	return t.reply(ctx, in, made), nil
}

func reportedEventOf(in *Report) (reportedEvent, error) {
	name := in.EventType
	if name == "" {
		name = in.Event
	}
	kind, ok := eventTypes[name]
	if !ok {
		return reportedEvent{}, errs.New(
			errs.InvalidRequest,
			"event_type must be impression, viewable, click, close, skip, video_complete or conversion",
		).With("field", "event_type")
	}
	clicked := kind == event.Type_CONVERSION && in.ClickID != ""
	campaignID, err := httpapi.ParseID("campaign_id", in.CampaignID)
	if err != nil && !clicked && (in.needsCampaign || in.AuctionID == "") {
		return reportedEvent{}, err
	}
	what := reportedEvent{
		kind: kind, auctionID: in.AuctionID, campaignID: campaignID, session: in.Session,
		format: in.Format, method: in.IntegrationMethod, by: in.By, sandbox: in.Sandbox, origin: in.Origin,
		externalID: in.ExternalID, refused: in.Consent.Read().Refused(),
	}
	if clicked {
		what.clickID = in.ClickID
	}
	if what.developer, err = developerOf(in); err != nil {
		return reportedEvent{}, err
	}
	if kind == event.Type_CONVERSION {
		what.conversion, err = conversionOf(in)
	}
	return what, err
}

// reporter reads the credentials of the request. A beacon needs none, so a bad login is ignored. A
// bad conversion key is kept, and so is a login that the store cannot judge now: their conversions
// would be recorded and never charged, and the advertiser would not hear of it.
// So is a browser key that does not work here refused, whatever it reports.
func (t *Tracker) reporter(c *gin.Context) (Reporter, error) {
	bearer, ok := httpapi.Bearer(c)
	if !ok {
		return Reporter{}, nil
	}
	if account.LooksLike(account.KindBrowser, bearer) {
		page, err := t.deps.Auth.Publisher(c)
		return Reporter{Page: &page}, err
	}
	if account.LooksLike(account.KindConversion, bearer) {
		key, err := t.deps.Auth.Key(c, account.KindConversion)
		if err != nil {
			return Reporter{Err: err}, nil
		}
		return Reporter{Key: &key}, nil
	}
	user, err := t.deps.Auth.User(c)
	switch {
	case errs.Is(err, errs.InvalidToken), errs.Is(err, errs.Forbidden), errs.Is(err, errs.SecondFactorRequired):
		return Reporter{}, nil
	case err != nil:
		return Reporter{Err: err}, nil
	}
	return Reporter{User: &user}, nil
}

var errForeignAd = errs.New(
	errs.Forbidden,
	"a browser key reports events of the ads that its account got with browser keys, with their auction_id, and no "+
		"conversions",
)

// mayReport refuses what a browser key does not open: events of other ads than its own, and
// conversions. a is nil without a token. Errors: errs.Forbidden.
func (r *Reporter) mayReport(kind event.Type, a *token.Auction) error {
	if r.Page == nil {
		return nil
	}
	if kind == event.Type_CONVERSION || a == nil || !a.Browser || a.DeveloperID != r.Page.DeveloperID {
		return errForeignAd
	}
	return nil
}

// vouches says whether the reporter speaks for the campaign of an auction: its owner's session, or
// a conversion key of the owner for this campaign. Another account's session only shows who
// reports. Errors: credentials that do not work or cannot be judged, a key for something else.
func (r *Reporter) vouches(a *token.Auction) (bool, error) {
	switch {
	case r.Err != nil:
		return false, r.Err
	case r.Key == nil:
		return r.User != nil && r.User.ID == a.AdvertiserID, nil
	case r.Key.OwnerID != a.AdvertiserID:
		return false, errs.New(
			errs.Forbidden, "the conversion key belongs to another account than the campaign of this click",
		)
	case r.Key.CampaignID != uuid.Nil && r.Key.CampaignID != a.CampaignID:
		return false, errs.New(errs.Forbidden, "the conversion key is for another campaign than that of this click")
	}
	return true, nil
}

func developerOf(in *Report) (uuid.UUID, error) {
	switch {
	case in.DeveloperID != "":
		return httpapi.ParseID("developer_id", in.DeveloperID)
	case in.Dev != "":
		return httpapi.ParseID("dev", in.Dev)
	case in.By.User != nil:
		return in.By.User.DeveloperID, nil
	}
	return uuid.Nil, nil
}

func conversionOf(in *Report) (*event.Conversion, error) {
	switch {
	case in.AuctionID == "" && in.ClickID == "":
		return nil, errs.New(
			errs.InvalidRequest, "click_id is required for a conversion: the landing page got it as adnet_click",
		).With("field", "click_id")
	case in.By.Err != nil:
		return nil, in.By.Err
	case in.Value != nil && *in.Value < 0:
		return nil, errs.New(errs.InvalidRequest, "value must not be negative").With("field", "value")
	case in.Value != nil && *in.Value > report.MaxConversionValue:
		return nil, errs.New(errs.InvalidRequest, "value must be at most 1000000").With("field", "value")
	case in.Currency != "" && !currencyCode.MatchString(in.Currency):
		return nil, errs.New(
			errs.InvalidRequest, "currency must be an ISO 4217 code like USD",
		).With("field", "currency")
	case len(in.ConversionType) > maxConversionType:
		return nil, errs.New(
			errs.InvalidRequest, "conversion_type must be at most %d bytes", maxConversionType,
		).With("field", "conversion_type")
	case len(in.ExternalID) > maxExternalID:
		return nil, errs.New(
			errs.InvalidRequest, "external_id must be at most %d bytes", maxExternalID,
		).With("field", "external_id")
	}
	if in.Currency == "" {
		in.Currency = "USD"
	}
	conversion := &event.Conversion{Type: in.ConversionType, Currency: in.Currency}
	if in.Value != nil {
		conversion.ValueMicros = int64(*in.Value)
	}
	return conversion, nil
}

// seenWait is how long a reply waits for what it may say about repeats.
const seenWait = 100 * time.Millisecond

// reply says what was taken.
func (t *Tracker) reply(ctx context.Context, in *Report, made *placedEvent) Taken {
	e := &made.Event
	name := wireNames[e.Type]
	out := Taken{Tracked: true, Event: name, CampaignID: in.CampaignID}
	if id := uuid.UUID(e.CampaignId); out.CampaignID == "" && id != uuid.Nil {
		out.CampaignID = id.String()
	}
	if e.Conversion != nil {
		out.AuctionID, out.ConversionType, out.ExternalID = in.AuctionID, in.ConversionType, in.ExternalID
		out.Value, out.Currency = in.Value, in.Currency
		out.Verified = &e.Conversion.Verified
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	out.Deduped = t.again(ctx, made)
	return out
}
