package rtb

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/auction"
	"adnet/ingress/offer"
	"adnet/internal/campaign/subject"
	"adnet/internal/jsonscan/eight"
	"adnet/internal/money/decimal"
)

// The reply is written by hand: a general encoder took a sixth of the time of a request
// (BenchmarkRTB100k). Every text goes through quote, except those that this service builds from
// characters that JSON does not escape.

// append writes the BidResponse (OpenRTB 2.6, 4.2.1).
func (s *bidSession) append(b []byte) []byte {
	b = quote(append(b, `{"id":`...), string(s.in.ID))
	if s.won > 0 {
		b = offer.AppendID(append(b, `,"bidid":"`...), s.first) // unique, like the bid's id
		b = quote(append(b, `","cur":"USD","seatbid":[{"seat":`...), s.cfg.Seat)
		b = append(append(append(b, `,"bid":[`...), s.bids...), `]}]`...)
	} else {
		b = strconv.AppendInt(append(b, `,"nbr":`...), int64(nbr(s.reasons)), 10)
	}
	b = append(b, `,"ext":{"adapter":"`+adapter+`","processing_ms":`...)
	b = appendMillis(b, s.now.Sub(s.started))
	b = strconv.AppendInt(append(b, `,"tmax":`...), s.tmax.Milliseconds(), 10)
	b = quote(append(b, `,"benna_version":`...), s.deps.Seller.Model())
	if s.sandbox && s.won == 0 && s.refused.Subject() != subject.None {
		b = s.appendSubject(b)
	}
	if s.debug {
		b = s.appendNonBids(b)
		if s.won == 0 && s.allInsecure() {
			b = append(
				b,
				`,"message":"imp.secure is 1 and the links of this service are http: set ADNET_BASE_URL to its https address"`...,
			)
		}
	}
	return append(b, `}}`...)
}

// appendSubject writes the subject for which a test was refused, so that publishers can try their
// own texts. It is only for tests, since an exchange's caller may not be allowed to know the
// subject.
func (s *bidSession) appendSubject(b []byte) []byte {
	id := s.refused.Subject()
	b = append(append(b, `,"suitability":{"tier":"`...), id.Tier().String()...)
	return append(append(append(b, `","subject":"`...), id.String()...), `"}`...)
}

// appendNonBids writes the reasons of imps without a bid (OpenRTB community extension Seat Non
// Bid).
func (s *bidSession) appendNonBids(b []byte) []byte {
	begin := len(b)
	for i, reason := range s.reasons {
		if reason == "" {
			continue
		}
		if len(b) == begin {
			b = append(quote(append(b, `,"seatnonbid":[{"seat":`...), s.cfg.Seat), `,"nonbid":[`...)
		} else {
			b = append(b, ',')
		}
		imp := s.in.Imp.list[i].ID
		b = quote(append(b, `{"impid":`...), string(imp))
		b = strconv.AppendInt(append(b, `,"statuscode":`...), int64(statusCodes[reason]), 10)
		b = quote(append(b, `,"ext":{"reason":`...), string(reason))
		if id := s.auctionOf(imp, reason); id != uuid.Nil {
			b = append(offer.AppendID(append(b, `,"auction_id":"`...), id), '"')
		}
		b = append(b, `}}`...)
	}
	if len(b) == begin {
		return b
	}
	return append(b, `]}]`...)
}

// appendBid writes the Bid (4.2.3) for s after its markup and notices are written.
func (s *bidSession) appendBid(b []byte, current *impressionAuction, size extent) []byte {
	g, sold := &current.gate, s.ad.Creative
	b = offer.AppendID(append(b, `{"id":"`...), s.auction.ID)
	b = quote(append(b, `","impid":`...), string(current.imp.ID))
	b = s.auction.Outcome.EffectiveCPM.Append(append(b, `,"price":`...))
	b = offer.AppendID(append(b, `,"adid":"`...), sold.ID)
	b = offer.AppendID(append(b, `","crid":"`...), sold.ID)
	b = offer.AppendID(append(b, `","cid":"`...), sold.AdvertiserID)
	b = append(quote(append(b, `","adomain":[`...), advertiserDomain(sold.CTAURL)), ']')
	// Macros come after all encoded parts, because an exchange does not replace an encoded macro.
	b = s.appendNotice(append(b, `,"nurl":`...), "win", "&price=${AUCTION_PRICE}")
	b = s.appendNotice(append(b, `,"burl":`...), "bill", "&price=${AUCTION_PRICE}")
	b = s.appendNotice(append(b, `,"lurl":`...), "loss", "&reason=${AUCTION_LOSS}")
	b = quote(append(b, `,"adm":`...), s.markup)
	if categories, tax := s.categories(sold); len(categories) > 0 {
		b = append(b, `,"cat":[`...)
		for i, category := range categories {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, category)
		}
		b = strconv.AppendInt(append(b, `],"cattax":`...), tax, 10)
	}
	if s.languages.limited {
		b = s.languages.append(b, s.auction.Outcome.Winner)
	}
	if g.deal != nil {
		b = quote(append(b, `,"dealid":`...), g.deal.id)
	}
	if size.w > 0 {
		b = strconv.AppendInt(append(b, `,"w":`...), size.w, 10)
		b = strconv.AppendInt(append(b, `,"h":`...), size.h, 10)
	}
	if g.kind == asVideo && g.slot.video.Skips(int64(sold.SkippableAfterSec)) {
		b = append(b, `,"attr":[16]`...) // skipButton
	}
	if size.dur > 0 {
		b = strconv.AppendInt(append(b, `,"dur":`...), size.dur, 10)
	}
	b = strconv.AppendInt(append(b, `,"exp":`...), int64(s.deps.Seller.BidLife()/time.Second), 10)
	b = strconv.AppendInt(append(b, `,"mtype":`...), int64(mtypes[g.kind]), 10)
	b = appendBenna(append(b, `,"ext":{"benna":`...), &s.auction.Outcome.Prediction, s.auction.Took)
	return append(b, `}}`...)
}

// appendNotice writes the link of a notice as a JSON string. Only the base may need escaping.
func (s *bidSession) appendNotice(b []byte, op, macro string) []byte {
	b = quote(b, s.base)
	b = append(append(b[:len(b)-1], "/api/rtb?op="...), op...)
	return append(append(append(b, s.noticed...), macro...), '"')
}

// appendBenna writes a ranking prediction with its contributions as an object; shares and
// probabilities are fractions of 1.
func appendBenna(b []byte, p *auction.Prediction, took time.Duration) []byte {
	b = quote(append(b, `{"model_version":`...), p.ModelVersion)
	b = p.Bid.Append(append(b, `,"bid_usd":`...))
	b = decimal.AppendMillionths(append(b, `,"p_click":`...), int64(p.PClick))
	b = decimal.AppendMillionths(append(b, `,"p_convert":`...), int64(p.PConvert))
	b = decimal.AppendMillionths(append(b, `,"relevance":`...), int64(p.Relevance))
	b = decimal.AppendMillionths(
		append(b, `,"signal_contributions":{"intent_overlap":`...), int64(p.Contributions.IntentOverlap)*1000,
	)
	b = decimal.AppendMillionths(append(b, `,"tool_overlap":`...), int64(p.Contributions.ToolOverlap)*1000)
	b = decimal.AppendMillionths(append(b, `,"host_match":`...), int64(p.Contributions.HostMatch)*1000)
	b = append(b, `},"terms":[`...)
	for i, earned := range p.Terms {
		if earned.By == 0 {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(append(b, `{"term":`...), earned.Term)
		b = append(decimal.AppendMillionths(append(b, `,"weight":`...), int64(earned.By)*1000), '}')
	}
	return append(appendMillis(append(b, `],"latency_ms":`...), took), '}')
}

// appendMillis writes milliseconds with at most three decimals.
func appendMillis(b []byte, d time.Duration) []byte {
	return decimal.AppendMillionths(b, max(d, 0).Microseconds()*1000)
}

// quote writes s as a JSON string; bytes that are not UTF-8 become replacement characters.
func quote[Text string | []byte](b []byte, s Text) []byte {
	if !plain(s) {
		// The error reports such bytes, which AppendQuote has replaced.
		b, _ = jsontext.AppendQuote(b, s)
		return b
	}
	b = append(slices.Grow(b, len(s)+len(s)/8), '"')
	from := 0
	for i := range len(s) {
		if s[i] == '"' {
			b = append(append(b, s[from:i]...), '\\')
			from = i
		}
	}
	return append(append(b, s[from:]...), '"')
}

// plain reports whether s needs no JSON escapes except for quotation marks: it is ASCII without
// control characters and backslashes, as nearly all markup is. It checks eight bytes at a time
// (BenchmarkRTB100k).
func plain[Text string | []byte](s Text) bool {
	var found uint64
	for ; len(s) >= 8; s = s[8:] {
		v := eight.Of(s)
		found |= eight.Wide(v) | eight.Control(v) | eight.Is(v, '\\')
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x80 || s[i] == '\\' {
			return false
		}
	}
	return found == 0
}
