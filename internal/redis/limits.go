package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
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
}

// NewExchange returns the exchange of the given name. node must be unique among the processes. It
// does no I/O.
func NewExchange(client *Client, name, node string) *Exchange {
	return &Exchange{client: client, stream: client.keys.exchange(name), node: node, cursor: "0"}
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
					Stream: x.stream, MinID: x.oldest(), Approx: x.cursor != "0", Values: []any{"n", x.node, "d", mine},
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
			if node != x.node && node != "" {
				hear(node, []byte(data))
			}
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
