package ingresstest

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"adnet/schemas/event"
)

// Sink is a producer or a spool that stores all records in memory. It panics on a record that does
// not decode or whose key does not fit its topic.
type Sink struct {
	Err      error // the error it returns; nil accepts the record
	Silent   bool  // it does not call done but appends it to Held
	Auctions []*event.Auction
	Notices  []*event.Notice
	Events   []*event.Event // accepted ones
	Keys     []string       // of all events, including refused ones
	Held     []func(error)

	mu       sync.Mutex
	received []*event.Event
}

// Produce implements the producers of offer, track and rtb.
func (s *Sink) Produce(topic string, key, value []byte, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch topic {
	case event.TopicAuctions:
		a := new(event.Auction)
		err = proto.Unmarshal(unsealed(value), a)
		s.Auctions = append(s.Auctions, a)
	case event.TopicNotices:
		n := new(event.Notice)
		err = proto.Unmarshal(unsealed(value), n)
		s.Notices = append(s.Notices, n)
	case event.TopicEvents:
		e := new(event.Event)
		err = proto.Unmarshal(value, e)
		s.received, s.Keys = append(s.received, e), append(s.Keys, string(key))
		if s.Err == nil {
			s.Events = append(s.Events, e)
		}
	default:
		panic("no records go to " + topic)
	}
	if err != nil || len(key) != 16 {
		panic("not a record of " + topic)
	}
	if s.Silent {
		s.Held = append(s.Held, done)
		return
	}
	done(s.Err)
}

// unsealed returns the record that token.Seal.Close sealed.
func unsealed(closed []byte) []byte {
	last := len(closed) - 1
	return closed[:last-int(closed[last])]
}

// Append makes a sink usable as the spool.
func (s *Sink) Append(topic string, key, value []byte, done func(error)) {
	s.Produce(topic, key, value, done)
}

// Requests returns all received events, including refused ones.
func (s *Sink) Requests() []*event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// Acked is a producer that acknowledges everything at once and stores nothing, for benchmarks.
type Acked struct{}

// Produce implements the producers of offer, track and rtb.
func (Acked) Produce(_ string, _, _ []byte, done func(error)) { done(nil) }
