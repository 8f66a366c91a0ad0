package token

// Purpose says for which use a token is valid. Each link of an ad has a token of its own, so a link
// that is passed on can be used for what it is there for and for nothing else. A token of one
// purpose does not verify for another.
type Purpose byte

// The purposes. They are in tokens, so numbers are never changed or used again.
const (
	// all links of an ad, as builds before the purposes from 3 on made them; verified, never made
	PurposeAuction    Purpose = 1
	PurposeBid        Purpose = 2 // the bid of an OpenRTB answer: win and loss notices
	PurposeReport     Purpose = 3 // the auction_id of a served ad, which its publisher keeps
	PurposeImpression Purpose = 4 // impression_url, the pixel
	PurposeClick      Purpose = 5 // click_url, the redirect
	PurposePlayback   Purpose = 6 // the pixels of a video that cost nothing: video_complete, skip, close
	PurposeReceipt    Purpose = 7 // receipt_url, the public page
	PurposeConversion Purpose = 8 // the click id, which the redirect gives to the landing page
	PurposeConverted  Purpose = 9 // a conversion whose click id and credentials ingress has checked; only in events

	PurposeViewable Purpose = 10 // viewable_url: half of the ad was in view for a second; costs nothing

	purposes = 11
)

var purposeUses = [purposes]string{
	PurposeAuction: "auction/v1", PurposeBid: "bid/v1", PurposeReport: "report/v1", PurposeImpression: "impression/v1",
	PurposeClick: "click/v1", PurposePlayback: "playback/v1", PurposeReceipt: "receipt/v1",
	PurposeConversion: "conversion/v1",
	PurposeConverted:  "converted/v1", PurposeViewable: "viewable/v1",
}

// clicked says whether a token of p tells when its ad was clicked.
func (p Purpose) clicked() bool { return p == PurposeConversion || p == PurposeConverted }

// Purposes is a set of purposes.
type Purposes uint16

// Only is the set of p alone.
func (p Purpose) Only() Purposes { return 1 << p }

func (s Purposes) has(p Purpose) bool { return p < purposes && s&(1<<p) != 0 }

// What tokens are accepted for. Those of [PurposeAuction] are in the links of ads that were served
// before an upgrade: they may do what they could, for as long as an event of theirs counts, but
// cannot lead to a charged conversion by themselves.
const (
	ForRedirect   Purposes = 1<<PurposeClick | 1<<PurposeAuction
	ForReceipt    Purposes = 1<<PurposeReceipt | 1<<PurposeAuction
	ForNotice     Purposes = 1 << PurposeBid
	ForConversion Purposes = 1 << PurposeConversion               // what comes with the word of the advertiser
	ForClaim      Purposes = 1<<PurposeReport | 1<<PurposeAuction // a conversion without its advertiser's word
	ForExplain    Purposes = 1<<PurposeReport | 1<<PurposeBid | 1<<PurposeAuction
)

// ForEvent is the set of purposes whose tokens prove an event, by the event's name on the wire.
// What proves a conversion is made by ingress. It is empty for an unknown name.
func ForEvent(event string) Purposes {
	const reports Purposes = 1<<PurposeReport | 1<<PurposeAuction
	switch event {
	case "impression":
		return reports | 1<<PurposeImpression
	case "click":
		return reports | 1<<PurposeClick
	case "viewable":
		return reports | 1<<PurposeViewable
	case "close", "skip", "video_complete":
		return reports | 1<<PurposePlayback
	case "conversion":
		return 1 << PurposeConverted
	}
	return 0
}
