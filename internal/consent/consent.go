// Package consent is the one place that decides whether a reader may be remembered: it reads the
// signals of consent that come with a request, and says what they forbid.
//
// Contract. [Signals.Read] never fails: a text that is not well-formed does not consent. A request
// without any signal costs nothing. The texts are read and forgotten; what goes with an auction are
// the [Flags].
//
// What a refusal means is obeyed where it applies: no session and no frequency cap
// (ingress/offer), no session with an event and no click id (ingress/track). Of a place adnet never
// knows more than country and region.
package consent

import (
	"net/http"
	"strings"
)

// Signals are the signals of consent as a request gives them, on any wire. The JSON names are those
// of the field consent of REST and MCP. The zero value says nothing.
type Signals struct {
	TCF       string `json:"tcf"`        // TC string of IAB's TCF 2
	GPP       string `json:"gpp"`        // IAB's Global Privacy Platform
	USPrivacy string `json:"us_privacy"` // IAB's CCPA string, as 1YNN
	GPC       Choice `json:"gpc"`        // Global Privacy Control, also the header Sec-GPC
	COPPA     Choice `json:"coppa"`      // the reader is a child

	// GDPR says whether the GDPR applies. Left out it does where there is a TC string.
	GDPR Choice `json:"gdpr"`
	// Sections are the sections of GPP that are in force, none for all that the text has.
	Sections []int64 `json:"-"`
	// Limited: the device asks for no tracking (OpenRTB lmt and dnt).
	Limited bool `json:"-"`
}

// Flags are what the signals of a request said. They are kept with its auction.
type Flags uint8

// The flags. They are in records, so numbers are never changed or used again.
const (
	Given     Flags = 1 << iota // there was a signal
	GDPR                        // the GDPR applies
	NoStorage                   // it does, without consent to TCF's purpose 1
	Child                       // COPPA
	OptOut                      // US privacy, GPP, GPC, lmt or dnt
	Malformed                   // a text could not be read
)

// names are those of the flags, in their order.
var names = [...]string{"given", "gdpr", "no_storage", "child", "opt_out", "malformed"}

// String is what was said, "given,gdpr,no_storage"; empty where nothing was.
func (f Flags) String() string {
	var said []string
	for i, name := range names {
		if f&(1<<i) != 0 {
			said = append(said, name)
		}
	}
	return strings.Join(said, ",")
}

// Refused says that the reader may not be remembered: no session, no frequency cap, no click id.
func (f Flags) Refused() bool { return f&(NoStorage|Child|OptOut|Malformed) != 0 }

// maxText is the longest text that is read, in bytes; TC strings with every vendor have some 2,000.
const maxText = 8 << 10

// Read reads the signals.
func (s *Signals) Read() (f Flags) {
	if s.TCF != "" {
		f |= Given
		if s.GDPR != No {
			f |= GDPR | storage(s.TCF)
		}
	}
	if s.GPP != "" {
		f |= Given | s.platform()
	}
	if s.USPrivacy != "" {
		f |= Given | usPrivacy(s.USPrivacy)
	}
	if s.GDPR == Yes && f&GDPR == 0 {
		f |= Given | GDPR | NoStorage // it applies, and there is no consent
	}
	return f | s.stated()
}

// stated is what the signals say that are no texts.
func (s *Signals) stated() (f Flags) {
	if s.GDPR == No || s.GPC == No || s.COPPA == No {
		f |= Given
	}
	if s.COPPA == Yes {
		f |= Given | Child
	}
	if s.GPC == Yes || s.Limited {
		f |= Given | OptOut
	}
	if s.GDPR == unclear || s.GPC == unclear || s.COPPA == unclear {
		f |= Given | Malformed
	}
	return f
}

// GPC says whether a request has Global Privacy Control switched on.
func GPC(h http.Header) bool {
	said := h["Sec-Gpc"]
	return len(said) > 0 && strings.TrimSpace(said[0]) == "1"
}

// usPrivacy reads a CCPA string of IAB: version, notice, opt-out of the sale, covered by the LSPA.
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
