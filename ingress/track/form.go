package track

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
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
			return readFields(string(text), in)
		}
		return httpapi.UnmarshalLoose(body, in)
	})
}

const formType = "application/x-www-form-urlencoded"

// form sets the fields of a report from a form or a query, and ignores others.
type form struct {
	in     *Report
	fields map[string]*string
	found  map[string]bool
	value  string // of a conversion
}

func newForm(in *Report) *form {
	f := &form{in: in, fields: formFields(in), found: map[string]bool{}}
	f.fields["value"] = &f.value
	return f
}

// set sets a field. Errors: a field twice.
func (f *form) set(name, value string) error {
	field, known := f.fields[name]
	switch {
	case !known:
	case f.found[name]:
		return errs.New(errs.InvalidRequest, "field %s appears twice", name).With("field", name)
	default:
		*field, f.found[name] = strings.ToValidUTF8(value, ""), true
	}
	return nil
}

// done reads the value of a conversion; an empty one is absent. Errors: it is no number.
func (f *form) done() error {
	text := strings.TrimSpace(f.value)
	if text == "" {
		return nil
	}
	if err := filledIn("value", text); err != nil {
		return err
	}
	value, err := money.Round(text)
	if err != nil {
		return errs.New(errs.InvalidRequest, "value must be a number like 12.50").With("field", "value")
	}
	f.in.Value = &value
	return nil
}

// readFields reads the fields of an encoded form or a query. A value with a percent sign that
// encodes nothing is taken as it is: %%NAME%% is a variable that the sender did not replace, and
// the error should name it.
func readFields(text string, in *Report) error {
	f := newForm(in)
	for pair := range strings.SplitSeq(text, "&") {
		name, content, _ := strings.Cut(pair, "=")
		if err := f.set(unescaped(name), unescaped(content)); err != nil {
			return err
		}
	}
	return f.done()
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
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
	f := newForm(in)
	for parts := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f.done()
		}
		if err != nil {
			return errs.Wrap(err, errs.InvalidRequest, "the multipart body is malformed")
		}
		value, err := io.ReadAll(part) // at most the size of the body
		if err != nil {
			return errs.Wrap(err, errs.InvalidRequest, "the multipart body is malformed")
		}
		if err := f.set(part.FormName(), string(value)); err != nil {
			return err
		}
	}
}
