package track

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/consent"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// Seen remembers posted events, so that a reply can contain `deduped: true`. It serves replies
// only: settlement's unique index decides billing.
type Seen interface {
	Seen(ctx context.Context, key string, life time.Duration) (first bool, err error)
}

// Report is a caller's report of an event of a served ad: the body of POST /api/track in both
// forms. Other protocols fill it from their own fields, so that the same rules apply to all.
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
	ClickID           string        `json:"click_id"` // of a conversion: adnet_click of the landing page
	key               string        // a conversion key in a form or query
	ConversionType    string        `json:"conversion_type"`
	Value             *money.Micros `json:"value"` // USD
	Currency          string        `json:"currency"`
	ExternalID        string        `json:"external_id"`

	Consent consent.Signals `json:"consent"` // the reader's, if it changed after the ad request

	By      Reporter `json:"-"` // the credentials of the request, if any
	Origin  Origin   `json:"-"` // the request; zero for a caller that is not a browser
	Sandbox bool     `json:"-"` // reported with a sandbox key: without a token the event is a sandbox event

	needsCampaign bool // required even if auction_id implies it
}

// Taken is the reply to a [Report]. Only a conversion has the conversion fields.
type Taken struct {
	Tracked bool   `json:"tracked"`
	Event   string `json:"event"`
	// empty if neither the report nor a verified token names a campaign
	CampaignID     string        `json:"campaign_id,omitempty"`
	Deduped        bool          `json:"deduped,omitzero"` // the same event was posted before; nothing is counted twice
	AuctionID      string        `json:"auction_id,omitempty"`
	ConversionType string        `json:"conversion_type,omitempty"`
	Value          *money.Micros `json:"value,omitempty"`
	Currency       string        `json:"currency,omitempty"`
	ExternalID     string        `json:"external_id,omitempty"`
	// Verified reports whether the campaign's owner vouches for a conversion. false: it is recorded
	// and never charged.
	Verified *bool `json:"verified,omitempty"`
	// Pending is true for a verified conversion: it counts if settlement finds a valid click of the
	// ad, which may still arrive.
	Pending bool   `json:"pending,omitzero"`
	Reason  string `json:"reason,omitempty"`  // why it is not verified
	Message string `json:"message,omitempty"` // the reason, or the use of the value, in words
	// false: reports and target_roas do not include the value, which is not in USD
	ValueReported *bool `json:"value_reported,omitempty"`
}

// Reporter is the sender of a report, according to its credentials.
type Reporter struct {
	User *account.User   // a login
	Key  *httpapi.Caller // a conversion key
	Page *httpapi.Caller // a browser key
	Err  error           // of credentials that are invalid or cannot be checked; conversions are then rejected
}

const (
	maxConversionType = campaign.MaxConversionType
	maxExternalID     = 128
)

// post serves POST /api/track: the JSON form of a beacon, and conversions.
func (t *Tracker) post(c *gin.Context) error {
	var in Report
	if err := decodeReport(c, &in); err != nil {
		return err
	}
	in.needsCampaign, in.Origin = true, Origin{request: c, posted: true}
	var err error
	if in.By, err = t.sender(c, &in); err != nil {
		return err
	}
	taken, err := t.Take(c.Request.Context(), &in)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, taken)
}

// Take checks a report and makes its event durable; it returns nil only if the event is durable, as
// the package guarantees. The token overrides the report. Errors: errs.InvalidRequest,
// errs.Unavailable.
func (t *Tracker) Take(ctx context.Context, in *Report) (Taken, error) {
	report, err := reportedEventOf(in)
	if err != nil {
		return Taken{}, err
	}
	e, err := t.take(ctx, &report)
	if err != nil {
		return Taken{}, err
	}
	return t.reply(ctx, in, e), nil
}

func reportedEventOf(in *Report) (reportedEvent, error) {
	name := in.EventType
	if name == "" {
		name = in.Event
	}
	kind, ok := event.TypeOf(name)
	if !ok {
		return reportedEvent{}, errs.New(
			errs.InvalidRequest, "event_type must be %s", event.TypeNames(),
		).With("field", "event_type")
	}
	in.ClickID = plain(in.ClickID)
	report := reportedEvent{
		kind: kind, auctionID: in.AuctionID, session: in.Session,
		format: in.Format, method: in.IntegrationMethod, by: in.By, sandbox: in.Sandbox, origin: in.Origin,
		externalID: in.ExternalID, refused: in.Consent.Read().Refused(),
	}
	if kind == event.Type_CONVERSION {
		report.clickID = in.ClickID
	}
	var err error
	report.campaignID, err = httpapi.ParseID("campaign_id", in.CampaignID)
	if err != nil && !report.clicked() && (in.needsCampaign || in.AuctionID == "") {
		return reportedEvent{}, err
	}
	if report.developer, err = developerOf(in); err != nil {
		return reportedEvent{}, err
	}
	if kind == event.Type_CONVERSION {
		report.conversion, err = conversionOf(in)
	}
	return report, err
}

// reporter reads the credentials of the request. A beacon needs none, so a bad login is ignored. An
// error of a bad conversion key, or of a login that the store cannot check now, is kept: otherwise
// the conversions would be recorded without a charge and the advertiser would not notice. An
// invalid browser key is rejected whatever it reports.
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
	"a browser key can report only events of ads that its account requested with browser keys, "+
		"with their auction_id, and no conversions",
)

// mayReport rejects events that a browser key may not report: events of other accounts' ads, and
// conversions. auction is nil without a token. Errors: errs.Forbidden.
func (r *Reporter) mayReport(kind event.Type, auction *token.Auction) error {
	if r.Page == nil {
		return nil
	}
	if kind.Kind().By == event.Advertiser || auction == nil || !auction.Browser ||
		auction.DeveloperID != r.Page.DeveloperID {
		return errForeignAd
	}
	return nil
}

// vouches reports whether the reporter acts for the campaign of an auction: its owner's session, or
// the owner's conversion key for this campaign. A session of another account only identifies the
// reporter. Errors: credentials that are invalid or cannot be checked, a key for something else.
func (r *Reporter) vouches(auction *token.Auction) (bool, error) {
	switch {
	case r.Err != nil:
		return false, r.Err
	case r.Key == nil:
		return r.User != nil && r.User.ID == auction.AdvertiserID, nil
	case r.Key.OwnerID != auction.AdvertiserID:
		return false, errs.New(
			errs.Forbidden, "the conversion key and the campaign of this click belong to different accounts",
		)
	case r.Key.CampaignID != uuid.Nil && r.Key.CampaignID != auction.CampaignID:
		return false, errs.New(errs.Forbidden, "the conversion key is for a different campaign than this click")
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

var errNoClickID = errs.New(
	errs.InvalidRequest, "click_id is required for a conversion: the landing page received it as adnet_click",
).With("field", "click_id")

func conversionOf(in *Report) (*event.Conversion, error) {
	if in.By.Err != nil {
		return nil, in.By.Err
	}
	in.Currency = strings.ToUpper(strings.TrimSpace(in.Currency))
	for _, field := range [...]struct{ name, text string }{
		{"currency", in.Currency}, {"conversion_type", in.ConversionType}, {"external_id", in.ExternalID},
	} {
		if err := filledIn(field.name, field.text); err != nil {
			return nil, err
		}
	}
	in.ConversionType = traffic.ConversionName(in.ConversionType)
	switch {
	case in.Value != nil && *in.Value < 0:
		return nil, errs.New(errs.InvalidRequest, "value must not be negative").With("field", "value")
	case in.Value != nil && *in.Value > report.MaxConversionValue:
		return nil, errs.New(errs.InvalidRequest, "value must be at most 1000000").With("field", "value")
	case in.Currency != "" && !isCurrency(in.Currency):
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
		in.Currency = usd
	}
	conversion := &event.Conversion{Type: in.ConversionType, Currency: in.Currency}
	if in.Value != nil {
		conversion.ValueMicros = int64(*in.Value)
	}
	return conversion, nil
}

// vouched states whether a conversion is verified, or why not, and whether its value is reported.
func (taken *Taken) vouched(in *Report, e *event.Event) {
	reason, message := unverified(e, in.ClickID, &in.By)
	verified := reason == ""
	taken.Verified = &verified
	switch {
	case !verified:
		taken.Reason, taken.Message = reason, message
	case verified && in.Value != nil && in.Currency != usd:
		taken.ValueReported, taken.Message = new(bool), foreignValue(in.Currency)
	}
}

// seenWait limits how long a reply waits for the lookup of repeats.
const seenWait = 100 * time.Millisecond

// reply returns the reply for a taken event.
func (t *Tracker) reply(ctx context.Context, in *Report, e *placedEvent) Taken {
	out := Taken{Tracked: true, Event: e.Type.Name(), CampaignID: in.CampaignID}
	if id := uuid.UUID(e.CampaignId); out.CampaignID == "" && id != uuid.Nil {
		out.CampaignID = id.String()
	}
	if e.Conversion != nil {
		out.AuctionID, out.ConversionType, out.ExternalID = in.AuctionID, in.ConversionType, in.ExternalID
		out.Value, out.Currency = in.Value, in.Currency
		out.vouched(in, &e.Event)
		out.Pending = e.Conversion.Verified
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	out.Deduped = t.again(ctx, e)
	out.Pending = out.Pending && !out.Deduped
	return out
}
