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

// checked says what would become of a conversion.
type checked struct {
	// Accepted says that the conversion would be recorded as verified: settlement counts it, unless
	// it is the second of its auction or above the hourly cap.
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason"` // ok, bad_click_id, expired or not_yours
	Message  string `json:"message"`

	// What follows is told only of the caller's own campaigns.
	CampaignID     string        `json:"campaign_id,omitempty"`
	ClickedAt      *time.Time    `json:"clicked_at,omitempty"` // UTC
	ConversionType string        `json:"conversion_type,omitempty"`
	Value          *money.Micros `json:"value,omitempty"`
	Currency       string        `json:"currency,omitempty"`
}

// check serves POST /api/track?action=check: whether a conversion would be accepted with this click
// id and these credentials, by the code that takes conversions. It records nothing, marks nothing
// and costs nothing: the event that it makes ends here.
func (t *Tracker) check(c *gin.Context) error {
	by, err := t.tester(c)
	if err != nil {
		return err
	}
	in := Report{}
	if err := decodeReport(c, &in); err != nil {
		return err
	}
	in.By = by
	if in.EventType == "" && in.Event == "" {
		in.Event = "conversion"
	}
	what, err := reportedEventOf(&in)
	switch {
	case err != nil:
		return err
	case what.kind != event.Type_CONVERSION:
		return errs.New(
			errs.InvalidRequest, "event must be conversion: only conversions can be checked",
		).With("field", "event")
	case what.clickID == "":
		return errs.New(
			errs.InvalidRequest, "click_id is required: the landing page got it as adnet_click",
		).With("field", "click_id")
	}
	made, _, err := t.eventOf(what, t.deps.Now())
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, verdictOf(made))
}

// tester is who tries a conversion: unlike a report, a test needs credentials that work. Errors:
// errs.InvalidToken and what a key lacks.
func (t *Tracker) tester(c *gin.Context) (Reporter, error) {
	by, err := t.reporter(c)
	switch {
	case err != nil:
		return by, err
	case by.Err != nil:
		return by, by.Err
	case by.Key != nil || by.User != nil:
		return by, nil
	}
	user, err := t.deps.Auth.User(c) // of a browser's cookie, which no event is reported by
	return Reporter{User: &user}, err
}

// verdictOf says what the proof of an event that was made, and is not recorded, means.
func verdictOf(made *placedEvent) checked {
	e := &made.Event
	switch {
	case e.Proof != event.Proof_SIGNED && !e.Conversion.Verified:
		return checked{
			Reason: "bad_click_id",
			Message: "the click id is none of this installation, or too old: send adnet_click as the landing page " +
				"got it",
		}
	case !e.Conversion.Verified:
		return checked{
			Reason: "not_yours",
			Message: "the click belongs to a campaign of another account: use a conversion key or the login of its " +
				"owner",
		}
	}
	at := made.auction.ClickedAt()
	said := checked{
		CampaignID: made.auction.CampaignID.String(), ClickedAt: &at,
		ConversionType: e.Conversion.Type, Value: new(money.Micros), Currency: e.Conversion.Currency,
	}
	*said.Value = money.Micros(e.Conversion.ValueMicros)
	if e.Proof == event.Proof_EXPIRED {
		said.Reason, said.Message = "expired", "the click is too long ago for a conversion"
		return said
	}
	said.Accepted, said.Reason, said.Message = true, "ok",
		"it would be recorded as verified; settlement counts one a click, up to the hourly cap"
	return said
}
