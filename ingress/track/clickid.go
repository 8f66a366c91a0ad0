package track

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// Reasons why a conversion is not verified: a closed list. [checked] uses them, too.
const (
	reasonNoClick     = "no_click_id"
	reasonBadClick    = "bad_click_id" // the click id cannot be read
	reasonExpired     = "expired"
	reasonNotYours    = "not_yours"
	reasonCredentials = "no_credentials" // neither a conversion key nor a login
)

func unverifiedReasons() []string {
	return []string{reasonNoClick, reasonBadClick, reasonExpired, reasonNotYours, reasonCredentials}
}

// templateForm matches a text that is nothing but a variable of a template, in the forms of common
// template languages and affiliate systems. A GUID in braces, as Windows writes it, is none.
var (
	templateForm = regexp.MustCompile(`^(?:` + strings.Join([]string{
		`\{\{.*`, `[$#@]\{.*`, `\{%.*%\}`, `<%.*%>`, `\[\[.*\]\]`, `\*\|.*\|\*`, `%%.+%%`, `##.+##`,
		`__[A-Za-z]\w*__`,
		`[{\[<%#$]\s*!?` + variable + `\s*[}\]>%#$]`, `[$:@]` + variable,
	}, `|`) + `)$`)
	guid = regexp.MustCompile(`^\{[0-9A-Fa-f-]{36}\}$`)
)

const variable = `[A-Za-z_][\w.:-]*`

// missingWords are the texts into which programs turn a value that they do not have.
var missingWords = map[string]bool{
	"null": true, "undefined": true, "nil": true, "none": true, "nan": true, "(null)": true, "(none)": true,
	"<nil>": true, "<null>": true, "[object object]": true, "(not set)": true,
}

// encodings is how often an id is decoded at most: programs encode a URL within a URL within a URL.
const encodings = 3

// plain returns a click id without the spaces, quotes, percent-encoding and padding of base64 that
// came with it. A click id itself has none of them.
func plain(text string) string {
	text = trimmed(text)
	for range encodings {
		if !strings.Contains(text, "%") {
			break
		}
		decoded, err := url.PathUnescape(text)
		if err != nil {
			break
		}
		text = trimmed(decoded)
	}
	return strings.TrimRight(text, "=")
}

func trimmed(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == '"' || r == '\'' || r == 0
	})
}

// maxEcho is how much of a text an error repeats, in bytes.
const maxEcho = 64

// notReplaced describes a text that stands for a value which the sender did not fill in; empty for
// any other text.
func notReplaced(text string) string {
	text = plain(text)
	switch {
	case missingWords[strings.ToLower(text)]:
		return `the word "` + text + `", which programs send for a missing value`
	case templateForm.MatchString(text) && !guid.MatchString(text):
		return `the template variable "` + cut(text, maxEcho) + `", which was not replaced`
	}
	return ""
}

// filledIn rejects a text field that holds a template variable.
func filledIn(field, text string) error {
	if problem := notReplaced(text); problem != "" {
		return errs.New(errs.InvalidRequest, "%s is %s", field, problem).With("field", field)
	}
	return nil
}

const sendAsReceived = "send adnet_click exactly as the landing page received it"

// unreadable describes a click id that does not verify.
func unreadable(clickID string) string {
	if problem := notReplaced(clickID); problem != "" {
		return "click_id is " + problem + ": " + sendAsReceived
	}
	if len(clickID) > maxEcho && clickID == strings.ToLower(clickID) {
		return "click_id was changed to lower case: " + sendAsReceived
	}
	return "the click id is not from this installation, is too old, or was cut or changed: " + sendAsReceived
}

// unread returns the rejection of a conversion whose click id is missing or cannot be read, if
// nothing else names a campaign: no account would ever see it.
func (t *Tracker) unread(e *event.Event, report *reportedEvent) error {
	if !report.clicked() {
		return nil
	}
	if _, named := t.deps.Creatives.Creative(uuid.UUID(e.CampaignId)); named {
		return nil
	}
	if report.clickID == "" {
		return errNoClickID
	}
	return errs.New(errs.InvalidRequest, "%s", unreadable(report.clickID)).With("field", "click_id")
}

func isZero(id []byte) bool { return len(strings.Trim(string(id), "\x00")) == 0 }

// nameCampaign finds the campaign of a conversion whose click id is missing or cannot be read: the
// one that the report states, or the only one of its key, or the one of its auction.
func (t *Tracker) nameCampaign(e *event.Event, report *reportedEvent) {
	if !report.clicked() || !isZero(e.CampaignId) {
		return
	}
	if report.by.Key != nil && !isZero(report.by.Key.CampaignID[:]) {
		e.CampaignId = report.by.Key.CampaignID[:]
		return
	}
	if of, err := t.deps.Keyring.Verify(token.ForClaim, report.auctionID, t.deps.Now()); err == nil {
		e.CampaignId = of.CampaignID[:]
	}
}

// unverified returns why a conversion is not verified, with an explanation; empty for a verified
// conversion and for other events.
func unverified(e *event.Event, clickID string, by *Reporter) (reason, message string) {
	switch {
	case e.Conversion == nil:
		return "", ""
	case clickID == "":
		return reasonNoClick, "without click_id a conversion is never charged: " + sendAsReceived
	case !e.Conversion.Verified && e.Proof != event.Proof_SIGNED && isZero(e.AdvertiserId):
		return reasonBadClick, unreadable(clickID)
	case !e.Conversion.Verified && by.Key == nil && by.User == nil:
		return reasonCredentials, "send a conversion key or the login of the campaign's owner"
	case !e.Conversion.Verified:
		return reasonNotYours, "the click belongs to another account's campaign: use a conversion key or the login " +
			"of its owner"
	case e.Proof == event.Proof_EXPIRED:
		return reasonExpired, "the click is too long ago for a conversion"
	}
	return "", ""
}

// noteUnverified counts a recorded conversion that is not verified.
func (t *Tracker) noteUnverified(e *event.Event, report *reportedEvent) {
	if reason, _ := unverified(e, report.clickID, &report.by); reason != "" {
		t.doubtful[reason].Inc()
	}
}

// defect returns the reason under which an unverified event is counted.
func defect(e *event.Event, report *reportedEvent) string {
	if report.clicked() {
		return traffic.ReasonClickID
	}
	return reasonOf(e)
}
