package event

import (
	"errors"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

var errNotUTF8 = errors.New("a text of the record is not UTF-8")

// AppendTo appends x as proto.Marshal encodes it, except for unknown fields. Every ad request
// writes one record, and proto.Size and Marshal take three times as long (BenchmarkAppendTo). A
// test sets every field, so that a new field of the schema cannot be forgotten here. It fails for
// text that is not UTF-8.
func (x *Auction) AppendTo(b []byte) ([]byte, error) {
	w := writer{b: b}
	w.bytes(1, x.AuctionId)
	w.varint(2, uint64(x.AtUs))
	w.bytes(3, x.DeveloperId)
	w.bytes(4, x.CampaignId)
	w.text(5, x.Reason)
	w.varint(6, uint64(x.PriceMicros))
	w.varint(7, uint64(x.EcpmMicros))
	if p := x.Placement; p != nil {
		start := w.begin(8)
		w.text(1, p.Format)
		w.text(2, p.IntegrationMethod)
		w.text(3, p.Surface)
		w.text(4, p.Region)
		w.text(5, p.Language)
		w.text(6, p.HostApp)
		w.end(start)
	}
	w.bool(9, x.Sandbox)
	w.varint(10, x.SnapshotVersion)
	w.varint(11, uint64(x.TookUs))
	w.varint(12, uint64(x.Tokens))
	w.varint(13, uint64(x.Tools))
	w.varint(14, uint64(x.FloorMicros))
	for _, c := range x.Candidates {
		start := w.begin(15)
		w.bytes(1, c.CampaignId)
		w.varint(2, uint64(c.EcpmMicros))
		w.text(3, c.Reason)
		w.end(start)
	}
	w.bool(16, x.MoreCandidates)
	w.varint(17, uint64(x.SessionS))
	w.text(18, x.CreativeFormat)
	w.varint(60, uint64(x.Consent))
	w.text(65, x.ModelVersion)
	w.bool(66, x.Explores)
	w.fixed32s(70, x.Terms)
	w.varint(71, uint64(x.SessionMark))
	w.varint(72, uint64(x.PClick))
	w.varint(73, uint64(x.TrialPClick))
	w.varint(74, x.Weights)
	w.bytes(75, x.HouseCampaignId)
	w.text(80, x.Suitability)
	w.text(81, x.SuitabilityBy)
	w.bool(82, x.AgeAdult)
	return w.b, w.err
}

// writer encodes non-zero fields.
type writer struct {
	b   []byte
	err error
}

func (w *writer) tag(field protowire.Number, as protowire.Type) {
	if field < 16 {
		w.b = append(w.b, byte(field)<<3|byte(as)) // fields up to 15 have one byte
		return
	}
	w.b = protowire.AppendTag(w.b, field, as)
}

func (w *writer) varint(field protowire.Number, v uint64) {
	if v != 0 {
		w.tag(field, protowire.VarintType)
		w.b = protowire.AppendVarint(w.b, v)
	}
}

func (w *writer) bool(field protowire.Number, v bool) {
	if v {
		w.varint(field, 1)
	}
}

func (w *writer) bytes(field protowire.Number, v []byte) {
	if len(v) > 0 {
		w.tag(field, protowire.BytesType)
		w.b = protowire.AppendBytes(w.b, v)
	}
}

func (w *writer) text(field protowire.Number, v string) {
	if v == "" {
		return
	}
	if !utf8.ValidString(v) {
		w.err = errNotUTF8
	}
	w.tag(field, protowire.BytesType)
	w.b = protowire.AppendString(w.b, v)
}

// fixed32s writes a packed list.
func (w *writer) fixed32s(field protowire.Number, list []uint32) {
	if len(list) == 0 {
		return
	}
	w.tag(field, protowire.BytesType)
	w.b = protowire.AppendVarint(w.b, uint64(4*len(list)))
	for _, v := range list {
		w.b = protowire.AppendFixed32(w.b, v)
	}
}

// begin starts a message in a field and reserves one byte for its length, which suffices for most.
func (w *writer) begin(field protowire.Number) (start int) {
	w.tag(field, protowire.BytesType)
	w.b = append(w.b, 0)
	return len(w.b)
}

func (w *writer) end(start int) {
	var room [10]byte
	size := protowire.AppendVarint(room[:0], uint64(len(w.b)-start))
	w.b[start-1] = size[0]
	if len(size) > 1 {
		w.b = slices.Insert(w.b, start, size[1:]...)
	}
}
