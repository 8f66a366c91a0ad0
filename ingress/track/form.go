package track

import (
	"mime"
	"net/url"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// formFields are the fields of a report that a form may contain.
func formFields(in *Report) map[string]*string {
	return map[string]*string{
		"event": &in.Event, "event_type": &in.EventType, "auction_id": &in.AuctionID, "campaign_id": &in.CampaignID,
		"session": &in.Session, "developer_id": &in.DeveloperID, "dev": &in.Dev, "format": &in.Format,
		"integration_method": &in.IntegrationMethod,
	}
}

// decodeReport reads the body of POST /api/track: a form if the content type is a form, else JSON
// whatever the type. A page can send forms and text/plain without a preflight, even while it
// unloads (navigator.sendBeacon).
func decodeReport(c *gin.Context, in *Report) error {
	if kind, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		return httpapi.Decode(c, in)
	}
	return httpapi.ReadBody(c, func(body []byte) error {
		if len(body) > 0 && body[0] == '{' {
			return httpapi.Unmarshal(body, in) // clients that send JSON with the form's type, like curl
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return errs.New(errs.InvalidRequest, "the body must be a form like event=impression&auction_id=…")
		}
		fields := formFields(in)
		for name, values := range form {
			field, known := fields[name]
			switch {
			case !known:
			case len(values) > 1:
				return errs.New(errs.InvalidRequest, "field %s appears twice", name).With("field", name)
			default:
				*field = values[0]
			}
		}
		return nil
	})
}
