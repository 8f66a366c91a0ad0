package track

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
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

// decodeReport reads the body of POST /api/track: JSON or a form, by its first character, whatever
// the content type. A page can send text/plain and both kinds of forms without a preflight, even
// while it unloads (navigator.sendBeacon with a string, URLSearchParams or FormData).
func decodeReport(c *gin.Context, in *Report) error {
	return httpapi.ReadBody(c, func(body []byte) error {
		kind, params, _ := mime.ParseMediaType(c.GetHeader("Content-Type"))
		switch text := bytes.TrimLeft(body, " \t\r\n"); {
		case bytes.HasPrefix(text, []byte("--")):
			return readParts(text, params["boundary"], in)
		case kind == formType && (len(text) == 0 || text[0] != '{'), // curl sends JSON with the form's type
			len(text) > 0 && 'a' <= text[0] && text[0] <= 'z' && bytes.IndexByte(text, '=') > 0:
			return readForm(string(text), in)
		}
		return httpapi.UnmarshalLoose(body, in)
	})
}

const formType = "application/x-www-form-urlencoded"

func readForm(text string, in *Report) error {
	form, err := url.ParseQuery(text)
	if err != nil {
		return errs.New(errs.InvalidRequest, "the body must be a form like event=impression&auction_id=…")
	}
	return in.fill(form)
}

// readParts reads multipart/form-data. The boundary is that of the first line if the content type
// has none, as in pages that set the type themselves.
func readParts(body []byte, boundary string, in *Report) error {
	if boundary == "" {
		line, _, _ := bytes.Cut(body, []byte("\n"))
		boundary = string(bytes.TrimSpace(line[len("--"):]))
	}
	if !bytes.Contains(body, []byte("--"+boundary+"--")) {
		return errs.New(errs.InvalidRequest, "the multipart body ends before its last boundary")
	}
	form := url.Values{}
	for parts := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return in.fill(form)
		}
		if err == nil {
			var value []byte
			if value, err = io.ReadAll(part); err == nil { // at most the size of the body
				form.Add(part.FormName(), string(value))
				continue
			}
		}
		return errs.Wrap(err, errs.InvalidRequest, "the multipart body is malformed")
	}
}

// fill sets the fields of a form. Unknown ones are ignored.
func (r *Report) fill(form url.Values) error {
	fields := formFields(r)
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
}
