package event

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Reader decodes events and reuses its memory. The zero Reader is ready for use.
type Reader struct {
	event      Event
	placement  Placement
	conversion Conversion
	texts      [64]string // recent texts, most of which return in the next events
}

// Read decodes value as proto.Unmarshal does. The event is valid until the next Read, and its bytes
// are parts of value; its texts stay valid. Every archived row needs one event, and Unmarshal takes
// twice as long and allocates every field (BenchmarkReader).
func (r *Reader) Read(value []byte) (*Event, error) {
	if r.readEvent(value) {
		return &r.event, nil
	}
	// Unknown fields and everything else out of the ordinary, errors among it.
	return &r.event, proto.Unmarshal(value, &r.event)
}

// readEvent reports false for everything that Unmarshal must decide. Each message has a loop of its
// own: in a shared one that calls a function, fields escape to the heap (28 allocations an event).
func (r *Reader) readEvent(value []byte) bool {
	x := &r.event
	x.Reset()
	for f := (field{rest: value}); len(f.rest) > 0; {
		if !f.next() {
			return false
		}
		ok := true
		switch f.tag {
		case 1<<3 | bytes:
			x.EventId = f.data
		case 2<<3 | varint:
			x.Type = Type(f.number)
		case 3<<3 | varint:
			x.Proof = Proof(f.number)
		case 4<<3 | varint:
			x.ReceivedAtUs = int64(f.number)
		case 5<<3 | bytes:
			x.AuctionId = f.data
		case 6<<3 | bytes:
			x.CampaignId = f.data
		case 7<<3 | bytes:
			x.AdvertiserId = f.data
		case 8<<3 | bytes:
			x.DeveloperId = f.data
		case 9<<3 | varint:
			x.PriceMicros = int64(f.number)
		case 10<<3 | varint:
			x.BillingModel = BillingModel(f.number)
		case 11<<3 | varint:
			x.Sandbox = f.number != 0
		case 12<<3 | varint:
			x.CreditFunded = f.number != 0
		case 13<<3 | bytes:
			ok = x.Placement == nil && r.readPlacement(f.data) // a second one is merged into the first
			x.Placement = &r.placement
		case 15<<3 | bytes:
			x.InvalidTraffic, ok = r.text(f.data)
		case 16<<3 | bytes:
			ok = x.Conversion == nil && r.readConversion(f.data)
			x.Conversion = &r.conversion
		case 40<<3 | bytes:
			x.Token = f.data
		case 60<<3 | bytes:
			x.SessionHash = f.data
		case 61<<3 | varint:
			x.NoConsent = f.number != 0
		case 62<<3 | varint:
			x.House = f.number != 0
		case 70<<3 | varint:
			x.NetworkMark = uint32(f.number)
		case 71<<3 | varint:
			x.FromReader = f.number != 0
		case 72<<3 | varint:
			x.Reported = f.number != 0
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

func (r *Reader) readPlacement(value []byte) bool {
	x := &r.placement
	x.Reset()
	for f := (field{rest: value}); len(f.rest) > 0; {
		if !f.next() {
			return false
		}
		ok := false
		switch f.tag {
		case 1<<3 | bytes:
			x.Format, ok = r.text(f.data)
		case 2<<3 | bytes:
			x.IntegrationMethod, ok = r.text(f.data)
		case 3<<3 | bytes:
			x.Surface, ok = r.text(f.data)
		case 4<<3 | bytes:
			x.Region, ok = r.text(f.data)
		case 5<<3 | bytes:
			x.Language, ok = r.text(f.data)
		case 6<<3 | bytes:
			x.HostApp, ok = r.text(f.data)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (r *Reader) readConversion(value []byte) bool {
	x := &r.conversion
	x.Reset()
	for f := (field{rest: value}); len(f.rest) > 0; {
		if !f.next() {
			return false
		}
		ok := true
		switch f.tag {
		case 1<<3 | bytes:
			x.Type, ok = r.text(f.data)
		case 2<<3 | varint:
			x.ValueMicros = int64(f.number)
		case 3<<3 | bytes:
			x.Currency, ok = r.text(f.data)
		case 50<<3 | varint:
			x.Verified = f.number != 0
		case 60<<3 | bytes:
			x.ExternalHash = f.data
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

// text returns b as a text, without an allocation if it is among the recent ones. It reports false
// if b is not UTF-8.
func (r *Reader) text(b []byte) (string, bool) {
	if len(b) == 0 {
		return "", true
	}
	recent := &r.texts[(len(b)+7*int(b[0])+13*int(b[len(b)-1]))%len(r.texts)]
	if *recent != string(b) {
		if !utf8.Valid(b) {
			return "", false
		}
		*recent = string(b)
	}
	return *recent, true
}

// The wire types that the schema of events uses.
const (
	varint = uint64(protowire.VarintType)
	bytes  = uint64(protowire.BytesType)
)

// field is the last field that was read from a message, and what follows it.
type field struct {
	rest   []byte
	tag    uint64 // number and wire type
	number uint64 // of type varint
	data   []byte // of type bytes
}

// next reads a field. It reports false for other wire types and broken messages.
func (f *field) next() bool {
	n := 0
	if f.tag, n = protowire.ConsumeVarint(f.rest); n < 0 {
		return false
	}
	f.rest = f.rest[n:]
	switch f.tag & 7 {
	case varint:
		f.number, n = protowire.ConsumeVarint(f.rest)
	case bytes:
		f.data, n = protowire.ConsumeBytes(f.rest)
		f.data = f.data[:len(f.data):len(f.data)] // an append must not write into the value
	default:
		return false
	}
	if n < 0 {
		return false
	}
	f.rest = f.rest[n:]
	return true
}
