package track

import (
	"mime"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// formFields are the text fields of a report that a form or a query may contain.
func formFields(in *Report) map[string]*string {
	return map[string]*string{
		"event": &in.Event, "event_type": &in.EventType, "auction_id": &in.AuctionID, "campaign_id": &in.CampaignID,
		"session": &in.Session, "developer_id": &in.DeveloperID, "dev": &in.Dev, "format": &in.Format,
		"integration_method": &in.IntegrationMethod, "click_id": &in.ClickID, "conversion_type": &in.ConversionType,
		"currency": &in.Currency, "external_id": &in.ExternalID, "key": &in.key,
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
		return readFields(string(body), in)
	})
}

// readFields reads the fields of a form or a query, and ignores others. A value with a percent sign
// that encodes nothing is taken as it is: %%NAME%% is a variable that the sender did not replace,
// and the error should name it. Errors: a field twice, a value that is no number.
func readFields(text string, in *Report) error {
	fields, value := formFields(in), ""
	fields["value"] = &value
	found := make(map[string]bool, len(fields))
	for pair := range strings.SplitSeq(text, "&") {
		name, content, _ := strings.Cut(pair, "=")
		name = unescaped(name)
		field, known := fields[name]
		switch {
		case !known:
		case found[name]:
			return errs.New(errs.InvalidRequest, "field %s appears twice", name).With("field", name)
		default:
			*field, found[name] = strings.ToValidUTF8(unescaped(content), ""), true
		}
	}
	return readValue(value, in)
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// readValue reads the value of a conversion; an empty one is absent.
func readValue(text string, in *Report) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if err := filledIn("value", text); err != nil {
		return err
	}
	value, err := money.Round(text)
	if err != nil {
		return errs.New(errs.InvalidRequest, "value must be a number like 12.50").With("field", "value")
	}
	in.Value = &value
	return nil
}
