package track

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/schemas/event"
)

// checked is the result of a conversion check.
type checked struct {
	// Accepted reports whether the conversion would be recorded as verified. Settlement then counts
	// it, unless it is the second of its auction or above the hourly cap.
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason"` // ok, bad_click_id, expired or not_yours
	Message  string `json:"message"`

	// The fields below are set only for the caller's own campaigns.
	CampaignID     string        `json:"campaign_id,omitempty"`
	ClickedAt      *time.Time    `json:"clicked_at,omitempty"` // UTC
	ConversionType string        `json:"conversion_type,omitempty"`
	Value          *money.Micros `json:"value,omitempty"`
	Currency       string        `json:"currency,omitempty"`
}

// check serves POST /api/track?action=check. It reports whether a conversion with this click id and
// these credentials would be accepted, with the code that takes conversions. It records nothing,
// marks nothing and costs nothing: the event is discarded.
func (t *Tracker) check(c *gin.Context) error {
	in := Report{}
	if err := decodeReport(c, &in); err != nil {
		return err
	}
	in.By = tester(c)
	if in.EventType == "" && in.Event == "" {
		in.Event = "conversion"
	}
	report, err := reportedEventOf(&in)
	switch {
	case err != nil:
		return err
	case report.kind != event.Type_CONVERSION:
		return errs.New(
			errs.InvalidRequest, "event must be conversion: only conversions can be checked",
		).With("field", "event")
	case report.clickID == "":
		return errs.New(
			errs.InvalidRequest, "click_id is required: the landing page received it as adnet_click",
		).With("field", "click_id")
	}
	e, _, err := t.eventOf(&report, t.deps.Now())
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, verdictOf(e, &report))
}

// tester returns the caller of a check. Unlike a report, a check needs valid credentials.
func tester(c *gin.Context) Reporter {
	if key, ok := httpapi.KeyOf(c); ok {
		return Reporter{Key: &key}
	}
	user := httpapi.UserOf(c)
	return Reporter{User: &user}
}

// verdictOf explains the proof of an unrecorded event.
func verdictOf(e *placedEvent, report *reportedEvent) checked {
	reason, message := unverified(&e.Event, report.clickID, &report.by)
	if !e.Conversion.Verified {
		return checked{Reason: reason, Message: message}
	}
	at := e.auction.ClickedAt()
	result := checked{
		CampaignID: e.auction.CampaignID.String(), ClickedAt: &at,
		ConversionType: e.Conversion.Type, Value: new(money.Micros), Currency: e.Conversion.Currency,
	}
	*result.Value = money.Micros(e.Conversion.ValueMicros)
	if reason != "" {
		result.Reason, result.Message = reason, message
		return result
	}
	result.Accepted, result.Reason, result.Message = true, "ok",
		"the conversion would be recorded as verified; if the click counted, settlement counts one per "+
			"conversion_type and external_id and charges at most one of a click, up to the hourly cap"
	if e.Conversion.ValueMicros != 0 && e.Conversion.Currency != usd {
		result.Message += "; " + foreignValue(e.Conversion.Currency)
	}
	return result
}
