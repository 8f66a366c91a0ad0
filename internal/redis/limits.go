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
	exchangeMemory = 65 * time.Second // how long a message can be read: a node that starts knows the last minute
	exchangePage   = 1000             // messages that one call reads at most
)

var errAnotherRedis = errors.New("the limits of an earlier Redis are gone: its messages begin anew")

// Exchange passes messages between the nodes of an installation: every other node gets a node's
// message within its next call, and a node that starts gets the messages of the last minute. It is
// a stream of Redis. Messages may be lost together with Redis and are never repeated, so each
// should stand for itself. One goroutine uses a value.
type Exchange struct {
	client *Client
	stream string
	node   string
	cursor string // id of the last message that was read
}

// NewExchange makes the exchange of the given name. node must be unique among the processes. It
// does no I/O.
func NewExchange(client *Client, name, node string) *Exchange {
	return &Exchange{client: client, stream: client.keys.exchange(name), node: node, cursor: "0"}
}

// Exchange sends mine, unless it is empty, and calls hear for the other nodes' messages since the
// last call, in the order in which they were sent: one round trip. hear's data is valid until it
// returns. After an error mine may or may not have been sent. A client, node or Redis that was away
// misses at most messages older than a minute.
func (x *Exchange) Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error {
	var said *goredis.StringCmd
	var read *goredis.XStreamSliceCmd
	_, err := x.client.rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
		if len(mine) > 0 {
			said = p.XAdd(
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
	if said != nil && len(streams) == 0 {
		// The message just sent was not read back: this is another Redis, whose ids begin before
		// the cursor.
		x.cursor = "0"
		return errAnotherRedis
	}
	return nil
}

// oldest is the id before which messages may be dropped, by Redis's own clock as the last message
// told it.
func (x *Exchange) oldest() string {
	ms, _, _ := strings.Cut(x.cursor, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || at < exchangeMemory.Milliseconds() {
		return ""
	}
	return fmt.Sprintf("%d", at-exchangeMemory.Milliseconds())
}
