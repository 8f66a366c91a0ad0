package token

import "adnet/schemas/event"

// Purpose is the use for which a token is valid. Each link of an ad has its own token, so a link
// that is passed on serves only its own purpose. A token of one purpose does not verify for
// another.
type Purpose byte

// The purposes. They are in tokens, so numbers are never changed or reused.
const (
	PurposeBid        Purpose = 2 // the bid of an OpenRTB response: win and loss notices
	PurposeReport     Purpose = 3 // the auction_id of a served ad, which its publisher keeps
	PurposeImpression Purpose = 4 // impression_url, the pixel
	PurposeClick      Purpose = 5 // click_url, the redirect
	PurposePlayback   Purpose = 6 // the pixels of a video that cost nothing: video_complete, skip, close
	PurposeReceipt    Purpose = 7 // receipt_url, the public page
	PurposeConversion Purpose = 8 // the click id, which the redirect gives to the landing page
	PurposeConverted  Purpose = 9 // a conversion that ingress has checked; only in events

	PurposeViewable Purpose = 10 // viewable_url: half of the ad in view for a second; not billed

	purposes = 11
)

var purposeUses = [purposes]string{
	PurposeBid: "bid/v1", PurposeReport: "report/v1", PurposeImpression: "impression/v1",
	PurposeClick: "click/v1", PurposePlayback: "playback/v1", PurposeReceipt: "receipt/v1",
	PurposeConversion: "conversion/v1",
	PurposeConverted:  "converted/v1", PurposeViewable: "viewable/v1",
}

// clicked reports whether a token of p holds the time of the click.
func (p Purpose) clicked() bool { return p == PurposeConversion || p == PurposeConverted }

// asked reports whether a token of p holds the ad's asker ([Auction.Asker]): those whose events
// release what the ad holds. Links of the others are shared, or lead to advertisers. Purpose 0 is
// that of [AppendContent].
func (p Purpose) asked() bool {
	switch p {
	case 0, PurposeBid, PurposeReport, PurposeImpression, PurposeViewable:
		return true
	}
	return false
}

// Purposes is a set of purposes.
type Purposes uint16

// Only returns the set of p alone.
func (p Purpose) Only() Purposes { return 1 << p }

func (s Purposes) has(p Purpose) bool { return p < purposes && s&(1<<p) != 0 }

// The accepted purposes of tokens.
const (
	ForRedirect   Purposes = 1 << PurposeClick
	ForReceipt    Purposes = 1 << PurposeReceipt
	ForNotice     Purposes = 1 << PurposeBid
	ForConversion Purposes = 1 << PurposeConversion // with the advertiser's report
	ForClaim      Purposes = 1 << PurposeReport     // a conversion without such a report
	ForExplain    Purposes = 1<<PurposeReport | 1<<PurposeBid
)

// eventPurposes has the purpose of the table of event types, by type.
var eventPurposes = func() (of [event.Types]Purpose) {
	for _, k := range event.Kinds() {
		for p, use := range purposeUses {
			if use == k.Token+"/v1" {
				of[k.Type] = Purpose(p)
			}
		}
		if of[k.Type] == 0 {
			panic("the table of event types names a token that does not exist: " + k.Token)
		}
	}
	return of
}()

// OfEvent returns the purpose of the token in the link that records an event; 0 for an unknown type.
func OfEvent(t event.Type) Purpose { return eventPurposes[t.Kind().Type] }

// ForEvent returns the purposes whose tokens prove an event. Ingress signs the proof of an
// advertiser's event. The set is empty for an unknown type.
func ForEvent(t event.Type) Purposes {
	k := t.Kind()
	switch {
	case k.Type == event.Type_TYPE_UNSPECIFIED:
		return 0
	case k.By == event.Advertiser:
		return OfEvent(t).Only()
	}
	return 1<<PurposeReport | OfEvent(t).Only()
}
