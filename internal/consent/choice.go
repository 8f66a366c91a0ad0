package consent

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/jsonscan"
)

// Choice is an optional yes or no.
type Choice int8

// The choices. Any other value is unclear, which counts as no consent.
const (
	Unsaid  Choice = 0
	Yes     Choice = 1
	No      Choice = 2
	unclear Choice = 3
)

// Of returns the choice for a number: 1, 0 or something else.
func Of(n int64) Choice {
	switch n {
	case 0:
		return No
	case 1:
		return Yes
	}
	return unclear
}

// UnmarshalJSONFrom reads true, false, 1, 0, the same values as strings, or null.
func (c *Choice) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err == nil {
		*c = choice(string(v))
	}
	return err
}

// choice returns the choice for a JSON value.
func choice(v string) Choice {
	switch v {
	case "null", `""`:
		return Unsaid
	case "true", "1", `"1"`, `"true"`:
		return Yes
	case "false", "0", `"0"`, `"false"`:
		return No
	}
	switch f, err := strconv.ParseFloat(v, 64); {
	case err == nil && f == 1:
		return Yes
	case err == nil && f == 0:
		return No
	}
	return unclear
}

// Scan reads the field consent of a plain body. It declines a body that needs the general decoder.
func (s *Signals) Scan(in *jsonscan.Reader) {
	if in.Peek() != '{' {
		in.Decline()
		return
	}
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "tcf":
			s.TCF = in.Text()
		case "gpp":
			s.GPP = in.Text()
		case "us_privacy":
			s.USPrivacy = in.Text()
		case "gpc":
			s.GPC = choice(in.Raw())
		case "coppa":
			s.COPPA = choice(in.Raw())
		case "gdpr":
			s.GDPR = choice(in.Raw())
		default:
			in.Decline() // may be a known name in a different case
		}
	}
}
