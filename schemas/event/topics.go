// Package event is the contract of the log between ingress and consumers: the protobuf messages,
// the topics, the partition keys and the record type. It imports nothing of adnet.
//
// Records are encoded as protobuf (event.proto), and fields are only ever added. The generated code
// is committed and written by `go generate ./schemas/event`.
package event

import "time"

//go:generate go run ./gen

// The topics. Records of one auction share a key and thus a partition, which preserves their order.
const (
	TopicEvents   = "adnet.events"   // beacons, clicks, conversions; key: auction id (16 bytes)
	TopicNotices  = "adnet.notices"  // OpenRTB win, loss and billing notices; key: auction id
	TopicAuctions = "adnet.auctions" // outcomes of auctions, best effort; key: auction id
)

// Record is one record of a topic as adapters pass it to the roles. Key and Value are valid until
// the next poll.
type Record struct {
	Topic      string
	TopicID    string // the broker's topic id in hex
	Partition  int32
	Offset     int64
	Key, Value []byte
	Time       time.Time
}
