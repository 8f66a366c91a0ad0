// Package consent decides, for all of adnet, whether a reader may be remembered: it reads the
// consent signals of a request and returns what they forbid.
//
// Contract. [Signals.Read] never fails: a malformed text counts as no consent. A request without
// any signal costs nothing. The texts are parsed and discarded; only the [Flags] are stored with an
// auction.
//
// A refusal is enforced where it applies: no session and no frequency cap (ingress/offer), no
// session in events and no click id (ingress/track). adnet never stores a location beyond country
// and region.
package consent

import (
	"net/http"
	"strings"
)

//go:generate go run adnet/internal/jsonscan/gen Signals

// Signals are the consent signals of a request, in any protocol. The JSON names are those of the
// field consent of REST and MCP. The zero value has no signal.
type Signals struct {
	TCF       string `json:"tcf"`        // TC string of IAB's TCF 2
	GPP       string `json:"gpp"`        // IAB's Global Privacy Platform
	USPrivacy string `json:"us_privacy"` // IAB's CCPA string, such as 1YNN
	GPC       Choice `json:"gpc"`        // Global Privacy Control, also the header Sec-GPC
	COPPA     Choice `json:"coppa"`      // the reader is a child

	// GDPR reports whether the GDPR applies. If absent, it applies if there is a TC string.
	GDPR Choice `json:"gdpr"`
	// Sections are the GPP sections in force; none means all sections of the text.
	Sections []int64 `json:"-"`
	// Limited is set if the device requests no tracking (OpenRTB lmt and dnt).
	Limited bool `json:"-"`
	// Unreadable is set if the signals were sent in a form that cannot be read.
	Unreadable bool `json:"-"`
}

// Flags summarise the signals of a request. They are stored with its auction.
type Flags uint8

// The flags. They are stored in records, so numbers are never changed or reused.
const (
	Signal    Flags = 1 << iota // there was a signal
	GDPR                        // the GDPR applies
	NoStorage                   // the GDPR applies, without consent to TCF's purpose 1
	Child                       // COPPA
	OptOut                      // US privacy, GPP, GPC, lmt or dnt
	Malformed                   // a text could not be parsed
)

// names are the names of the flags, in their order.
var names = [...]string{"given", "gdpr", "no_storage", "child", "opt_out", "malformed"}

// String lists the flags, as in "given,gdpr,no_storage"; empty for none.
func (f Flags) String() string {
	var set []string
	for i, name := range names {
		if f&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, ",")
}

// Refused reports whether the reader must not be remembered: no session, no frequency cap, no click
// id.
func (f Flags) Refused() bool { return f&(NoStorage|Child|OptOut|Malformed) != 0 }

// maxText is the maximum length of a text in bytes. TC strings with every vendor have about 2,000.
const maxText = 8 << 10

// Read evaluates the signals.
func (s *Signals) Read() (f Flags) {
	if s.TCF != "" {
		f |= Signal
		if s.GDPR != No {
			f |= GDPR | storage(s.TCF)
		}
	}
	if s.GPP != "" {
		f |= Signal | s.platform()
	}
	if s.USPrivacy != "" {
		f |= Signal | usPrivacy(s.USPrivacy)
	}
	if s.GDPR == Yes && f&GDPR == 0 {
		f |= Signal | GDPR | NoStorage // the GDPR applies without consent
	}
	return f | s.stated()
}

// stated evaluates the signals that are not texts.
func (s *Signals) stated() (f Flags) {
	if s.GDPR == No || s.GPC == No || s.COPPA == No {
		f |= Signal
	}
	if s.COPPA.Strict() {
		f |= Signal | Child
	}
	if s.GPC == Yes || s.Limited {
		f |= Signal | OptOut
	}
	if s.Unreadable || s.GDPR == Unclear || s.GPC == Unclear || s.COPPA == Unclear {
		f |= Signal | Malformed
	}
	return f
}

// GPC reports whether a request has Global Privacy Control enabled: a header Sec-GPC with any value
// but a no (see [ParseChoice]) or a blank one.
func GPC(h http.Header) bool {
	for _, value := range h["Sec-Gpc"] {
		if word(strings.ToLower(strings.TrimSpace(value))).Strict() {
			return true
		}
	}
	return false
}

// usPrivacy parses a CCPA string of the IAB: version, notice, opt-out of the sale, covered by the
// LSPA.
func usPrivacy(text string) Flags {
	if len(text) != 4 || text[0] != '1' {
		return Malformed
	}
	for _, c := range []byte(text[1:]) {
		switch c {
		case 'Y', 'N', '-', 'y', 'n':
		default:
			return Malformed
		}
	}
	if text[2]|0x20 == 'y' {
		return OptOut
	}
	return 0
}
