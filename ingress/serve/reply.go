package serve

import (
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// appendReply appends the reply with an ad as JSON. A marshaller takes three times as long for it (benchmark row
// ad_request). Errors: a text that is not UTF-8.
func appendReply(b []byte, o *Offer) ([]byte, error) {
	var link [1 << 10]byte // room for one
	w := replyWriter{b: append(b, `{"ad":{"ad_id":"`...)}
	w.b = appendID(w.b, o.Creative.ID)
	w.b = append(append(w.b, `","auction_id":"`...), o.Token...) // of the URL alphabet
	text(&w, `","type":`, string(o.Creative.Format))
	text(&w, `,"headline":`, o.Creative.Headline)
	text(&w, `,"body":`, o.Creative.Subtext)
	text(&w, `,"image_url":`, o.Creative.MediaURL)
	text(&w, `,"cta_label":`, o.Creative.CTALabel)
	text(&w, `,"click_url":`, o.appendClick(link[:0]))
	text(&w, `,"impression_url":`, o.appendBeacon(link[:0], "impression"))
	text(&w, `,"disclosure_label":`, o.DisclosureLabel)
	text(&w, `,"receipt_url":`, o.appendReceipt(link[:0]))
	if o.Sandbox {
		w.b = append(w.b, `,"sandbox":true}}`...)
	} else {
		w.b = append(w.b, `,"sandbox":false}}`...)
	}
	return w.b, w.err
}

// replyWriter keeps the first error.
type replyWriter struct {
	b   []byte
	err error
}

func text[T string | []byte](w *replyWriter, lead string, value T) {
	var err error
	if w.b, err = jsontext.AppendQuote(append(w.b, lead...), value); w.err == nil {
		w.err = err
	}
}

// appendID appends the form of a UUID that [uuid.UUID.String] gives.
func appendID(b []byte, id uuid.UUID) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}
