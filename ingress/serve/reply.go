package serve

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/ingress/offer"
	"adnet/schemas/event"
)

// AppendReply appends the reply with an ad as JSON, in the format of POST /v1/ad-request. A
// marshaller takes three times as long (benchmark row ad_request). Errors: a text that is not
// UTF-8.
func AppendReply(b []byte, o *offer.Ad) ([]byte, error) {
	w := replyWriter{b: append(b, `{"ad":{"ad_id":"`...)}
	w.b = o.AppendCampaign(w.b)
	w.b = o.AppendAuctionID(append(w.b, `","auction_id":"`...))
	w.text(`","type":`, string(o.Creative.Format))
	w.text(`,"headline":`, o.Creative.Headline)
	w.text(`,"body":`, o.Creative.Subtext)
	w.text(`,"image_url":`, o.Creative.MediaURL)
	w.text(`,"cta_label":`, o.Creative.CTALabel)
	w.b = o.AppendClick(append(w.b, `,"click_url":"`...))
	w.b = o.AppendBeacon(append(w.b, `","impression_url":"`...), event.Type_IMPRESSION)
	w.b = o.AppendBeacon(append(w.b, `","viewable_url":"`...), event.Type_VIEWABLE)
	w.text(`","disclosure_label":`, o.DisclosureLabel)
	w.b = o.AppendReceipt(append(w.b, `,"receipt_url":"`...))
	w.b = append(w.b, '"')
	if why := o.WhyLabel(); why != "" {
		w.text(`,"why_label":`, why)
	}
	if by := o.Advertiser(); by.Name != "" {
		w.text(`,"advertiser":{"name":`, by.Name)
		w.b = append(strconv.AppendBool(append(w.b, `,"verified":`...), by.Verified), '}')
	}
	if o.House {
		w.b = append(w.b, `,"house":true`...)
	}
	w.b = append(strconv.AppendBool(append(w.b, `,"sandbox":`...), o.Sandbox), `}}`...)
	return w.b, w.err
}

// appendNone appends a reply without an ad: the reason, and when to retry.
func appendNone(b []byte, a *offer.Answer) ([]byte, error) {
	w := replyWriter{b: append(b, `{"ad":null`...)}
	if a.AuctionID != uuid.Nil {
		text := a.AuctionID.String()
		w.b = append(append(append(w.b, `,"auction_id":"`...), text...), '"')
	}
	if a.Reason != "" {
		w.text(`,"reason":`, string(a.Reason))
	}
	w.some(`,"retry_after":`, a.RetryAfter)
	w.some(`,"retry_after_turns":`, a.RetryTurns)
	return append(w.b, '}'), w.err
}

// replyWriter keeps the first error.
type replyWriter struct {
	b   []byte
	err error
}

func (w *replyWriter) text(lead, value string) {
	if isPlain(value) {
		w.b = append(append(append(append(w.b, lead...), '"'), value...), '"')
		return
	}
	var err error
	if w.b, err = jsontext.AppendQuote(append(w.b, lead...), value); w.err == nil {
		w.err = err
	}
}

// isPlain reports whether a text is a JSON string as it is. Most texts of ads are, and the general
// encoder looks at each letter of them for longer.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// some appends a number unless it is 0.
func (w *replyWriter) some(lead string, n int) {
	if n != 0 {
		w.b = strconv.AppendInt(append(w.b, lead...), int64(n), 10)
	}
}
