package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/token"
)

const (
	exchangeMemory = 65 * time.Second // life of a message: a node that starts reads the last minute
	exchangePage   = 1000             // maximum number of messages in one read
)

var errAnotherRedis = errors.New("the limits of an earlier Redis are gone: its messages start over")

// Exchange passes messages between the nodes of an installation: every other node gets a node's
// message within its next call, and a node that starts gets the messages of the last minute. It is
// a stream of Redis. Messages may be lost together with Redis and are never repeated, so each
// should be self-contained. A value belongs to one goroutine.
type Exchange struct {
	client *Client
	stream string
	node   string
	cursor string // id of the last message read

	seal    *token.Seal // nil: messages are neither sealed nor rejected
	refused func(node string, reason error)
	sent    int64            // time of the last message sent, Unix ms
	heard   map[string]int64 // the same of each node's last message heard
}

// NewExchange returns the exchange of the given name. node must be unique among the processes. It
// does no I/O.
func NewExchange(client *Client, name, node string) *Exchange {
	return &Exchange{client: client, stream: client.keys.exchange(name), node: node, cursor: "0"}
}

// Sealed makes x seal its messages and reject those that no node of this installation sealed, and
// genuine ones that are sent again: a foreign writer to Redis changes no count. refused is called
// for each. It returns x.
func (x *Exchange) Sealed(seal *token.Seal, refused func(node string, reason error)) *Exchange {
	x.seal, x.refused, x.heard = seal, refused, make(map[string]int64)
	return x
}

// errRepeated rejects a message that was heard before, or is too old to be a node's.
var errRepeated = errors.New("the message is an old one")

// values returns the fields of a message.
func (x *Exchange) values(mine []byte) []any {
	if x.seal == nil {
		return []any{"n", x.node, "d", mine}
	}
	x.sent = max(time.Now().UnixMilli(), x.sent+1)
	at := strconv.FormatInt(x.sent, 10)
	return []any{"n", x.node, "d", mine, "t", at, "s", x.seal.Append(nil, x.record(x.node, at, string(mine)))}
}

// record returns what the seal of a message covers.
func (x *Exchange) record(node, at, data string) []byte {
	return fmt.Appendf(nil, "%s\n%s\n%d\n%s%s", x.stream, at, len(node), node, data)
}

// check returns nil for a message of a node that is newer than its last one.
func (x *Exchange) check(node, data string, values map[string]any) error {
	if x.seal == nil {
		return nil
	}
	at, _ := values["t"].(string)
	seal, _ := values["s"].(string)
	now := time.Now()
	if err := x.seal.Check(string(x.record(node, at, data)), seal, now); err != nil {
		return err
	}
	sent, err := strconv.ParseInt(at, 10, 64)
	oldest := now.Add(-2 * exchangeMemory).UnixMilli()
	if err != nil || sent <= max(x.heard[node], oldest) {
		return errRepeated
	}
	maps.DeleteFunc(x.heard, func(_ string, last int64) bool { return last < oldest })
	x.heard[node] = sent
	return nil
}

// Exchange sends mine, unless it is empty, and passes the other nodes' messages since the last call
// to hear, in the order of sending: one round trip. hear's data is valid until it returns. After an
// error mine may or may not have been sent. After an outage of a client, node or Redis, only
// messages older than a minute can be missing.
func (x *Exchange) Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error {
	var sent *goredis.StringCmd
	var read *goredis.XStreamSliceCmd
	_, err := x.client.rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
		if len(mine) > 0 {
			sent = p.XAdd(
				ctx,
				&goredis.XAddArgs{
					Stream: x.stream, MinID: x.oldest(), Approx: x.cursor != "0", Values: x.values(mine),
				},
			)
			p.PExpire(ctx, x.stream, 2*exchangeMemory)
		}
		read = p.XRead(ctx, &goredis.XReadArgs{Streams: []string{x.stream, x.cursor}, Count: exchangePage, Block: -1})
		return nil
	})
	if err != nil && err != goredis.Nil {
		return x.client.explain(err)
	}
	streams, err := read.Result()
	if err != nil && err != goredis.Nil {
		return x.client.explain(err)
	}
	for _, stream := range streams {
		for _, m := range stream.Messages {
			x.cursor = m.ID
			node, _ := m.Values["n"].(string)
			data, _ := m.Values["d"].(string)
			if node == x.node || node == "" {
				continue
			}
			if err := x.check(node, data, m.Values); err != nil {
				x.refused(node, err)
				continue
			}
			hear(node, []byte(data))
		}
	}
	if sent != nil && len(streams) == 0 {
		// The message just sent was not read back: this is another Redis, whose ids begin before
		// the cursor.
		x.cursor = "0"
		return errAnotherRedis
	}
	return nil
}

// oldest returns the id before which messages may be dropped, by the time of Redis in the last
// message.
func (x *Exchange) oldest() string {
	ms, _, _ := strings.Cut(x.cursor, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || at < exchangeMemory.Milliseconds() {
		return ""
	}
	return fmt.Sprintf("%d", at-exchangeMemory.Milliseconds())
}
