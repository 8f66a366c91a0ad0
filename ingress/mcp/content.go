package mcp

import (
	"cmp"
	"context"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/compliance/consent"
	"adnet/internal/errs"
	"adnet/internal/money/share"
	"adnet/schemas/event"
)

// integrationMethod is the name of this protocol in campaigns' targeting and in reports.
const integrationMethod = "mcp"

//go:generate go run adnet/internal/jsonscan/gen contentArguments

// contentArguments holds both argument sets of get_sponsored_content. If both set a value, the
// second set counts.
type contentArguments struct {
	ContextSummary string `json:"context_summary" loose:"parts"`
	Host           string `json:"host"`
	UserRegion     string `json:"user_region"`
	UserLanguage   string `json:"user_language" loose:"first"`
	// In minutes; recorded with the outcome, but not used by the ranking model.
	SessionLenMin   *float64 `json:"session_len_min"`
	DeveloperAPIKey string   `json:"developer_api_key"`

	Context      string          `json:"context" loose:"parts"`
	Messages     []offer.Message `json:"messages"`
	Contents     []offer.Message `json:"contents"` // Gemini
	MinRelevance *share.Share    `json:"min_relevance"`
	ActiveTools  []string        `json:"active_tools"`
	HostApp      string          `json:"host_app"`
	Surface      string          `json:"surface"`

	SessionID       string `json:"session_id"`
	Turn            *int   `json:"turn"`
	FirstAdTurn     *int   `json:"first_ad_turn"`
	TurnsBetweenAds *int   `json:"turns_between_ads"`

	Consent     consent.Signals   `json:"consent"`
	Suitability offer.Suitability `json:"suitability"`
}

// maxSessionMin is the longest session that is recorded: one year. A longer one is the caller's
// mistake.
const maxSessionMin = 365 * 24 * 60

// noAd is the answer if nothing won.
type noAd struct {
	Ad         *struct{}      `json:"ad"`         // null
	AuctionID  uuid.UUID      `json:"auction_id"` // the id for an explanation
	Reason     auction.Reason `json:"reason"`
	RetryAfter int            `json:"retry_after,omitzero"` // seconds
	RetryTurns int            `json:"retry_after_turns,omitzero"`
}

// sponsoredContent is the tool get_sponsored_content.
func (s *Server) sponsoredContent(ctx context.Context, r *call) (result, *failure) {
	if err := s.deps.Ads.Admit(r.caller); err != nil {
		return result{}, failed(err)
	}
	in := &r.content
	if !r.understood {
		if err := httpapi.UnmarshalLoose([]byte(r.params.arguments), in); err != nil {
			return misused(err, nil)
		}
	}
	if in.DeveloperAPIKey != "" && subtle.ConstantTimeCompare([]byte(in.DeveloperAPIKey), []byte(r.bearer)) != 1 {
		return result{wrong: "developer_api_key must be the key of the Authorization header, or be left out"}, nil
	}
	if in.SessionLenMin != nil && *in.SessionLenMin < 0 {
		return result{wrong: "session_len_min must not be negative"}, nil
	}
	in.fill(&r.request)
	r.request.Views = r.apps
	if r.private {
		r.request.Consent.GPC = consent.Yes
	}
	if err := r.request.Check(); err != nil {
		return misused(err, in.name)
	}
	answer := &r.answer
	switch err := s.deps.Ads.Answer(ctx, r.caller, &r.request, answer); {
	case err != nil:
		return result{}, failed(err)
	case answer.Creative == nil:
		return structured(
			r,
			noAd{
				AuctionID: answer.AuctionID, Reason: answer.Reason, RetryAfter: answer.RetryAfter,
				RetryTurns: answer.RetryTurns,
			},
		)
	}
	r.value = AppendAd(r.value, &answer.Ad)
	return result{hasAd: true}, nil
}

// fill converts the arguments to a request.
func (in *contentArguments) fill(to *offer.Request) {
	var age time.Duration
	if in.SessionLenMin != nil {
		age = time.Duration(min(*in.SessionLenMin, maxSessionMin) * float64(time.Minute))
	}
	*to = offer.Request{
		SessionAge: age, Messages: in.Messages, Contents: in.Contents, MinRelevance: in.MinRelevance,
		Context: cmp.Or(in.Context, in.ContextSummary), ActiveTools: in.ActiveTools,
		HostApp:    cmp.Or(in.HostApp, in.Host),
		UserRegion: in.UserRegion, UserLanguage: in.UserLanguage, Surface: in.Surface, Method: integrationMethod,
		SessionID: in.SessionID, Turn: in.Turn, FirstAdTurn: in.FirstAdTurn, TurnsBetweenAds: in.TurnsBetweenAds,
		Consent: in.Consent, Suitability: in.Suitability,
	}
}

// name returns the name that a field of the request has in the arguments.
func (in *contentArguments) name(field string) string {
	switch {
	case field == "context" && in.Context == "" && in.ContextSummary == "":
		return "context_summary or context"
	case field == "context" && in.Context == "":
		return "context_summary"
	case field == "host_app" && in.HostApp == "":
		return "host"
	}
	return field
}

// misused returns a result that describes the mistake in the arguments to the model. name returns
// the argument's name of a field; nil means that the names are equal.
func misused(err error, name func(field string) string) (result, *failure) {
	e := errs.Of(err)
	if httpapi.Status(e.Code) >= http.StatusInternalServerError && e.Code != errs.Unavailable {
		return result{}, failed(err)
	}
	if field, _ := e.Extra["field"].(string); name != nil && field != "" {
		if rest, found := strings.CutPrefix(e.Message, field); found {
			return result{wrong: name(field) + rest}, nil
		}
	}
	return result{wrong: e.Message}, nil
}

// AppendAd appends the sponsored ad of the specification with our additional fields: auction_id,
// disclosure_label, receipt_url, why_label, advertiser, house and sandbox. It is written by hand because it is
// most of the cost of a call (BenchmarkToolCall): four of five bytes are our own links, which need
// no check of each character.
func AppendAd(to []byte, o *offer.Ad) []byte {
	k := o.Creative
	to = o.AppendCampaign(append(to, `{"campaign_id":"`...))
	to = append(append(to, `","type":"`...), k.Format...)
	to = appendText(append(to, `","headline":`...), k.Headline)
	to = appendText(append(to, `,"subtext":`...), k.Subtext)
	to = appendText(append(to, `,"media_url":`...), k.MediaURL)
	to = append(to, `,"poster_url":`...)
	if k.PosterURL == "" {
		to = append(to, "null"...)
	} else {
		to = appendText(to, k.PosterURL)
	}
	to = appendText(append(to, `,"cta_label":`...), k.CTALabel)
	// The landing page itself; tracking.click leads there.
	to = appendText(append(to, `,"cta_url":`...), k.CTAURL)
	to = strconv.AppendInt(append(to, `,"skippable_after_sec":`...), int64(k.SkippableAfterSec), 10)
	to = o.AppendBeacon(append(to, `,"tracking":{"impression":"`...), event.Type_IMPRESSION)
	to = o.AppendClick(append(to, `","click":"`...))
	to = o.AppendBeacon(append(to, `","close":"`...), event.Type_CLOSE)
	to = o.AppendBeacon(append(to, `","video_complete":"`...), event.Type_VIDEO_COMPLETE)
	to = o.AppendBeacon(append(to, `","viewable":"`...), event.Type_VIEWABLE)
	to = o.AppendAuctionID(append(to, `"},"auction_id":"`...))
	to = appendText(append(to, `","disclosure_label":`...), o.DisclosureLabel)
	to = o.AppendReceipt(append(to, `,"receipt_url":"`...))
	to = append(to, '"')
	if why := o.WhyLabel(); why != "" {
		to = appendText(append(to, `,"why_label":`...), why)
	}
	if by := o.Advertiser(); by.Name != "" {
		to = appendText(append(to, `,"advertiser":{"name":`...), by.Name)
		to = append(strconv.AppendBool(append(to, `,"verified":`...), by.Verified), '}')
	}
	if o.House {
		to = append(to, `,"house":true`...)
	}
	return append(strconv.AppendBool(append(to, `,"sandbox":`...), o.Sandbox), '}')
}

// AppendMarkdown appends the ad for people as a JSON string, with its label first.
func AppendMarkdown(to []byte, o *offer.Ad) []byte {
	to = appendInert(append(to, `"**`...), o.DisclosureLabel)
	if by := o.Advertiser(); by.Name != "" {
		to = appendInert(append(to, " · "...), by.Name)
	}
	to = appendInert(append(to, `:** `...), o.Creative.Headline)
	to = append(to, `\n\n`...)
	if o.Creative.Subtext != "" {
		to = append(appendInert(to, o.Creative.Subtext), `\n\n`...)
	}
	to = appendInert(append(to, '['), cmp.Or(o.Creative.CTALabel, o.Creative.Headline))
	// Our links contain no Markdown syntax.
	to = o.AppendClick(append(to, `](`...))
	to = appendInert(append(to, `) · [`...), o.Why)
	to = o.AppendReceipt(append(to, `](`...))
	return append(to, `)"`...)
}

// inert escapes third-party text so that it has no meaning in Markdown or HTML.
var inert = strings.NewReplacer(
	"\\", `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", " ", "\n", " ",
)

// appendInert appends text, with Markdown escaped, as a part of a JSON string.
func appendInert(to []byte, text string) []byte {
	if ordinary(text) {
		return append(to, text...)
	}
	from := len(to)
	to = appendText(to, inertText(text))
	return append(to[:from], to[from+1:len(to)-1]...)
}

func inertText(text string) string { return strings.TrimSpace(inert.Replace(text)) }

// ordinary reports whether text needs no escaping in Markdown and JSON, like most ads' texts:
// letters, digits, and spaces and punctuation between them.
func ordinary(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && i < len(text)-1 &&
			c == ' ', c == ',', c == '.', c == '-', c == ':', c == '\'', c == '?', c == '%', c == '$':
		default:
			return false
		}
	}
	return true
}
