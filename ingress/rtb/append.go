package rtb

import (
	"strconv"
	"time"

	"adnet/auction"
	"adnet/internal/money"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// The reply is written by hand: with a general encoder it was a sixth of the time of a request (BenchmarkRTB100k).
// Every text goes through quote, except those that this service made of characters that JSON leaves alone.

// append writes r as JSON.
func (t *turn) append(b []byte, r *wireResponse) []byte {
	b = quote(append(b, `{"id":`...), string(r.id))
	if len(r.bids) > 0 {
		b = append(b, `,"bidid":"`...)
		b = append(b, r.bids[0].id...) // unique, as the bid's is
		b = append(b, `","cur":"USD","seatbid":[{"seat":`...)
		b = append(quote(b, r.seat), `,"bid":[`...)
		for i := range r.bids {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.appendBid(b, &r.bids[i])
		}
		b = append(b, `]}]`...)
	} else {
		b = strconv.AppendInt(append(b, `,"nbr":`...), int64(r.nbr), 10)
	}
	b = append(b, `,"ext":{"adapter":"`+adapter+`","processing_ms":`...)
	b = appendMillis(b, r.processing)
	b = strconv.AppendInt(append(b, `,"tmax":`...), r.tmax.Milliseconds(), 10)
	b = quote(append(b, `,"benna_version":`...), r.version)
	if len(r.nonBids) > 0 {
		b = append(b, `,"seatnonbid":[{"seat":`...)
		b = append(quote(b, r.seat), `,"nonbid":[`...)
		for i, non := range r.nonBids {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(append(b, `{"impid":`...), string(non.imp))
			b = strconv.AppendInt(append(b, `,"statuscode":`...), int64(statusCodes[non.reason]), 10)
			b = quote(append(b, `,"ext":{"reason":`...), string(non.reason))
			if non.auction != uuid.Nil {
				b = append(append(append(b, `,"auction_id":"`...), non.auction.String()...), '"')
			}
			b = append(b, `}}`...)
		}
		b = append(b, `]}]`...)
	}
	return append(b, `}}`...)
}

func (t *turn) appendBid(b []byte, bid *wireBid) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, bid.id...)
	b = quote(append(b, `","impid":`...), string(bid.imp))
	b = bid.price.Append(append(b, `,"price":`...))
	b = append(append(b, `,"adid":"`...), bid.campaign...)
	b = append(append(b, `","crid":"`...), bid.campaign...)
	b = append(append(b, `","cid":"`...), bid.advertiser...)
	b = append(quote(append(b, `","adomain":[`...), bid.domain), ']')
	// Macros come after everything that is encoded: an encoded one is never replaced.
	b = t.appendLink(append(b, `,"nurl":`...), "win", bid.links, "&price=${AUCTION_PRICE}")
	b = t.appendLink(append(b, `,"burl":`...), "bill", bid.links, "&price=${AUCTION_PRICE}")
	b = t.appendLink(append(b, `,"lurl":`...), "loss", bid.links, "&reason=${AUCTION_LOSS}")
	b = quote(append(b, `,"adm":`...), bid.adm)
	if len(t.cfg.Categories) > 0 {
		b = append(b, `,"cat":[`...)
		for i, category := range t.cfg.Categories {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, category)
		}
		b = strconv.AppendInt(append(b, `],"cattax":`...), t.cfg.CatTax, 10)
	}
	if bid.deal != "" {
		b = quote(append(b, `,"dealid":`...), bid.deal)
	}
	if bid.w > 0 {
		b = strconv.AppendInt(append(b, `,"w":`...), bid.w, 10)
		b = strconv.AppendInt(append(b, `,"h":`...), bid.h, 10)
	}
	if bid.dur > 0 {
		b = strconv.AppendInt(append(b, `,"dur":`...), bid.dur, 10)
	}
	b = strconv.AppendInt(append(b, `,"exp":`...), int64(t.bidLife()/time.Second), 10)
	b = strconv.AppendInt(append(b, `,"mtype":`...), int64(bid.mtype), 10)
	b = appendBenna(append(b, `,"ext":{"benna":`...), bid.prediction, bid.latency)
	return append(b, `}}`...)
}

// appendLink writes a link as a JSON string. All but the base is made of characters that JSON leaves alone.
func (t *turn) appendLink(b []byte, op, rest, macro string) []byte {
	b = quote(b, t.base)
	b = append(append(b[:len(b)-1], "/api/rtb?op="...), op...)
	return append(append(append(b, rest...), macro...), '"')
}

// appendBenna writes a ranking prediction with its contributions as an object; shares and probabilities are
// fractions of 1.
func appendBenna(b []byte, p *auction.Prediction, took time.Duration) []byte {
	b = quote(append(b, `{"model_version":`...), p.ModelVersion)
	b = p.Bid.Append(append(b, `,"bid_usd":`...))
	b = money.Micros(p.PClick).Append(append(b, `,"p_click":`...))
	b = money.Micros(p.PConvert).Append(append(b, `,"p_convert":`...))
	b = money.Micros(p.Contributions.IntentOverlap * 1000).Append(append(b, `,"signal_contributions":{"intent_overlap":`...))
	b = money.Micros(p.Contributions.ToolOverlap * 1000).Append(append(b, `,"tool_overlap":`...))
	b = money.Micros(p.Contributions.HostMatch * 1000).Append(append(b, `,"host_match":`...))
	return append(appendMillis(append(b, `},"latency_ms":`...), took), '}')
}

// appendMillis writes milliseconds with at most three decimals.
func appendMillis(b []byte, d time.Duration) []byte {
	return money.Micros(max(d, 0) / time.Microsecond * 1000).Append(b)
}

// quote writes s as a JSON string; bytes that are not UTF-8 become replacement characters.
func quote(b []byte, s string) []byte {
	// The error tells of such bytes, which AppendQuote has replaced.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
