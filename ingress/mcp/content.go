package mcp

import (
	"cmp"
	"context"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"time"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/ingress/serve"
	"adnet/internal/errs"

	"github.com/google/uuid"
)

// integrationMethod is what campaigns target and reports name this wire by.
const integrationMethod = "mcp"

// contentArguments are both argument sets of get_sponsored_content; where both say something, the second counts.
type contentArguments struct {
	ContextSummary  string   `json:"context_summary"`
	Host            string   `json:"host"`
	UserRegion      string   `json:"user_region"`
	UserLanguage    string   `json:"user_language"`
	SessionLenMin   *float64 `json:"session_len_min"` // minutes; recorded with the outcome, no signal of the ranking model
	DeveloperAPIKey string   `json:"developer_api_key"`

	Context     string   `json:"context"`
	ActiveTools []string `json:"active_tools"`
	HostApp     string   `json:"host_app"`
	Surface     string   `json:"surface"`

	SessionID       string `json:"session_id"`
	Turn            *int   `json:"turn"`
	FirstAdTurn     *int   `json:"first_ad_turn"`
	TurnsBetweenAds *int   `json:"turns_between_ads"`
}

// maxSessionMin is the longest session that is recorded as such: a year. What is longer is a mistake of the caller's.
const maxSessionMin = 365 * 24 * 60

// noAd is the answer when nothing won.
type noAd struct {
	Ad         *struct{}      `json:"ad"`         // null
	AuctionID  uuid.UUID      `json:"auction_id"` // what explains why
	Reason     auction.Reason `json:"reason"`
	RetryAfter int            `json:"retry_after,omitzero"` // seconds
	RetryTurns int            `json:"retry_after_turns,omitzero"`
}

// sponsoredContent is the tool get_sponsored_content.
func (s *Server) sponsoredContent(ctx context.Context, w *workspace, r *call) (result, *failure) {
	if err := s.deps.Ads.Admit(r.caller); err != nil {
		return result{}, failed(err)
	}
	var in contentArguments
	if err := httpapi.Unmarshal(r.arguments(), &in); err != nil {
		return misused(err, nil)
	}
	if in.DeveloperAPIKey != "" && subtle.ConstantTimeCompare([]byte(in.DeveloperAPIKey), []byte(r.bearer)) != 1 {
		return result{wrong: "developer_api_key must be the key of the Authorization header, or be left out"}, nil
	}
	if in.SessionLenMin != nil && *in.SessionLenMin < 0 {
		return result{wrong: "session_len_min must not be negative"}, nil
	}
	request := in.request()
	if err := request.Check(); err != nil {
		return misused(err, in.name)
	}
	offer, err := s.deps.Ads.Offer(ctx, r.caller, request)
	switch {
	case err != nil:
		return result{}, failed(err)
	case offer.Creative == nil:
		return structured(w, noAd{AuctionID: offer.AuctionID, Reason: offer.Reason, RetryAfter: offer.RetryAfter, RetryTurns: offer.RetryTurns})
	}
	w.value = appendAd(w.value, &offer)
	return result{shown: markdown(&offer)}, nil
}

func (in *contentArguments) request() *serve.Request {
	var age time.Duration
	if in.SessionLenMin != nil {
		age = time.Duration(min(*in.SessionLenMin, maxSessionMin) * float64(time.Minute))
	}
	return &serve.Request{
		SessionAge: age, Context: cmp.Or(in.Context, in.ContextSummary), ActiveTools: in.ActiveTools, HostApp: cmp.Or(in.HostApp, in.Host),
		UserRegion: in.UserRegion, UserLanguage: in.UserLanguage, Surface: in.Surface, Method: integrationMethod,
		SessionID: in.SessionID, Turn: in.Turn, FirstAdTurn: in.FirstAdTurn, TurnsBetweenAds: in.TurnsBetweenAds,
	}
}

// name is what a field of the request was called in the arguments.
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

// misused tells the model what was wrong with the arguments; name says what a field was called there, nil that it
// was called so.
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

// appendAd appends the sponsored ad of the specification, and what we add to it: auction_id, disclosure_label,
// receipt_url and sandbox. It is written by hand because it is most of the cost of a call (BenchmarkToolCall): four of
// five bytes are links of ours, which need no look at each character.
func appendAd(to []byte, o *serve.Offer) []byte {
	k := o.Creative
	to = append(append(to, `{"campaign_id":"`...), k.ID.String()...)
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
	to = appendQuoted(append(to, `,"tracking":{"impression":`...), o.BeaconURL("impression"))
	to = appendQuoted(append(to, `,"click":`...), o.ClickURL())
	to = appendQuoted(append(to, `,"close":`...), o.BeaconURL("close"))
	to = appendQuoted(append(to, `,"video_complete":`...), o.BeaconURL("video_complete"))
	to = appendQuoted(append(to, `},"auction_id":`...), o.Token)
	to = appendText(append(to, `,"disclosure_label":`...), o.DisclosureLabel)
	to = appendQuoted(append(to, `,"receipt_url":`...), o.ReceiptURL())
	return append(strconv.AppendBool(append(to, `,"sandbox":`...), o.Sandbox), '}')
}

// markdown is the ad for people: what it is comes first.
func markdown(o *serve.Offer) string {
	var b strings.Builder
	b.Grow(1 << 10)
	for _, part := range [...]string{"**", plain(o.DisclosureLabel), ":** ", plain(o.Creative.Headline), "\n\n"} {
		b.WriteString(part)
	}
	if o.Creative.Subtext != "" {
		b.WriteString(plain(o.Creative.Subtext))
		b.WriteString("\n\n")
	}
	// Links of ours hold nothing that Markdown reads.
	for _, part := range [...]string{
		"[", plain(cmp.Or(o.Creative.CTALabel, o.Creative.Headline)), "](", o.ClickURL(), ") · [Why this ad?](", o.ReceiptURL(), ")",
	} {
		b.WriteString(part)
	}
	return b.String()
}

// inert makes text of others mean nothing to a reader of Markdown or HTML.
var inert = strings.NewReplacer(
	"\\", `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", " ", "\n", " ",
)

func plain(text string) string { return strings.TrimSpace(inert.Replace(text)) }
