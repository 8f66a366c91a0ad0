package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
)

const (
	nodeLife     = 2 * time.Second        // a node silent for this long is not awaited
	nodeMemory   = time.Minute            // a node silent for this long is removed
	announceWait = time.Second            // the longest wait of Announce for confirmations
	announceLook = 100 * time.Millisecond // interval of its checks of heartbeats
	roomWait     = 500 * time.Millisecond // the longest wait of Announce for a campaign's room
	roomLook     = 5 * time.Millisecond   // interval of its checks
	confirmLife  = 10 * time.Second       // life of a confirmation after its waiter has left
	pingEvery    = time.Second            // interval of Subscribe's checks of a silent connection
)

// Nodes sends changes to the serving nodes and waits for them. Its methods may be called from any
// goroutine.
type Nodes struct{ client *Client }

// NewNodes returns a view of the nodes. It does no I/O.
func NewNodes(client *Client) *Nodes { return &Nodes{client} }

// Change is a message to subscribers: exactly one of Ready, Campaign and Rooms is set.
type Change struct {
	// Ready reports that the subscription is active: changes from now on arrive, so data loaded
	// from now on misses none.
	Ready bool
	// Campaign is a published campaign. It may be older than the node's own copy: compare
	// ConfigVersion.
	Campaign *campaign.Campaign
	// Confirm requests [Nodes.Applied] of the campaign's ConfigVersion as soon as the node serves
	// it or a newer one.
	Confirm bool
	// Rooms are absolute; compare Version.
	Rooms []reserve.Room
}

// message is the encoded form of a Change.
type message struct {
	Campaign jsontext.Value   `json:"campaign"`
	Confirm  bool             `json:"confirm"`
	Rooms    []jsontext.Value `json:"rooms"`
}

// Subscribe calls apply for every change in sequence, first with Ready. It returns ctx's error when
// ctx ends, and an error when the connection is lost. Changes may then be missing, so the node must
// subscribe again and load everything newer than its own data. A silent connection is closed after
// 3 s. apply must be fast: while it runs nothing is read, and Redis drops a subscriber that is far
// behind.
func (n *Nodes) Subscribe(ctx context.Context, apply func(Change)) error {
	subscription := n.client.rdb.Subscribe(ctx, n.client.keys.changes)
	watched, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	var heard atomic.Int64 // time of the last arrival, ns of the monotonic clock since start
	start := time.Now()
	go func() {
		defer close(ended)
		// Neither ctx nor a silent loss of the peer ends a read; closing does.
		defer subscription.Close()
		watch(watched, subscription, func() time.Duration { return time.Since(start) - time.Duration(heard.Load()) })
	}()
	defer func() { stop(); <-ended }()
	for {
		received, err := subscription.Receive(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return n.client.explain(fmt.Errorf("subscription lost: %w", err))
		}
		heard.Store(int64(time.Since(start)))
		n.deliver(received, apply)
	}
}

// watch pings until ctx ends or three pings brought nothing, not even a reply.
func watch(ctx context.Context, subscription *goredis.PubSub, silence func() time.Duration) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if silence() > 3*pingEvery || subscription.Ping(ctx) != nil {
				return
			}
		}
	}
}

func (n *Nodes) deliver(received any, apply func(Change)) {
	switch r := received.(type) {
	case *goredis.Subscription:
		apply(Change{Ready: true})
	case *goredis.Message:
		var m message
		if err := json.Unmarshal([]byte(r.Payload), &m); err != nil {
			// The message is not lost: nodes also follow the head.
			n.client.log.Error("change that cannot be decoded", "error", err)
			return
		}
		if m.Campaign != nil {
			k := new(campaign.Campaign)
			if err := n.client.decode(string(m.Campaign), k); err != nil {
				n.client.refused("of a message", err) // nodes also follow the head
				return
			}
			apply(Change{Campaign: k, Confirm: m.Confirm})
		}
		if len(m.Rooms) > 0 {
			rooms := make([]reserve.Room, 0, len(m.Rooms))
			for _, text := range m.Rooms {
				room, err := n.client.openRoom(string(text))
				if err != nil {
					n.client.refused("of a message", err) // nodes also read all rooms from time to time
					continue
				}
				rooms = append(rooms, room.ledger())
			}
			apply(Change{Rooms: rooms})
		}
	}
}

// Heartbeat records that node serves and has applied every change up to version. A node counts as
// live for 2 s, by Redis's clock; pauses then wait for its confirmation.
func (n *Nodes) Heartbeat(ctx context.Context, node string, version int64) error {
	keys := []string{n.client.keys.nodes, n.client.keys.applied}
	return n.client.explain(
		heartbeatScript.Run(ctx, n.client.rdb, keys, node, version, nodeMemory.Milliseconds()).Err(),
	)
}

// Leave records that node no longer serves, so that no caller waits for it.
func (n *Nodes) Leave(ctx context.Context, node string) error {
	return n.client.explain(n.client.rdb.ZRem(ctx, n.client.keys.nodes, node).Err())
}

// Applied confirms that node serves the campaign of an announced version, or a newer one.
func (n *Nodes) Applied(ctx context.Context, node string, configVersion int64) error {
	key := n.client.keys.confirmed(configVersion)
	_, err := n.client.rdb.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.RPush(ctx, key, node)
		p.PExpire(ctx, key, confirmLife)
		return nil
	})
	return n.client.explain(err)
}

var _ campaign.Announcer = (*Nodes)(nil)

// Announce implements campaign.Announcer: it publishes a committed campaign and waits, at most 1 s,
// until each live node confirmed its version or is gone. Without live nodes all is true. For a
// deliverable campaign it also waits, at most half of that second, for its room of this version: no
// node may serve it earlier. An error reports a failure of Redis; the nodes then stop serving on
// their own once they cannot prove freshness.
func (n *Nodes) Announce(ctx context.Context, announced campaign.Campaign) (all bool, err error) {
	object, err := n.client.encode(&announced)
	if err != nil {
		return false, err
	}
	until := time.Now().Add(announceWait)
	keys := []string{n.client.keys.objects, n.client.keys.versions, n.client.keys.head, n.client.keys.nodes}
	live, err := announceScript.Run(ctx, n.client.rdb, keys, n.client.keys.changes,
		announced.ID.String(), announced.ConfigVersion, object, nodeLife.Milliseconds()).StringSlice()
	if err != nil {
		return false, n.client.explain(err)
	}
	waiting := make(map[string]bool, len(live))
	for _, node := range live {
		waiting[node] = true
	}
	for len(waiting) > 0 {
		left := time.Until(until)
		if left <= 0 {
			return false, nil
		}
		if err := n.awaitConfirmation(ctx, announced.ConfigVersion, min(left, announceLook), waiting); err != nil {
			return false, n.client.explain(err)
		}
	}
	if announced.Delivers() {
		n.awaitRoom(ctx, &announced, min(roomWait, time.Until(until)))
	}
	return true, nil
}

// awaitRoom waits for the projector. Without one the campaign is served once a projector runs.
func (n *Nodes) awaitRoom(ctx context.Context, announced *campaign.Campaign, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticker := time.NewTicker(roomLook)
	defer ticker.Stop()
	for {
		room, err := n.client.rdb.HGet(ctx, n.client.keys.rooms, announced.ID.String()).Result()
		version, _, _ := strings.Cut(room, "|")
		if v, bad := strconv.ParseInt(version, 10, 64); bad == nil && v >= announced.ConfigVersion ||
			err != nil && !errors.Is(err, goredis.Nil) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// awaitConfirmation waits for one node's confirmation and removes it from waiting. Without a
// confirmation it checks the heartbeats: a node that missed the message catches up by the head, and
// a node that left is dropped from waiting.
func (n *Nodes) awaitConfirmation(
	ctx context.Context, version int64, wait time.Duration, waiting map[string]bool,
) error {
	key := n.client.keys.confirmed(version)
	// Redis reads 0 as "forever", and some servers do not accept less than milliseconds.
	seconds := strconv.FormatFloat(max(wait, time.Millisecond).Seconds(), 'f', 3, 64)
	reply, err := n.client.rdb.Do(ctx, "BLPOP", key, seconds).StringSlice()
	switch {
	case err == nil && len(reply) == 2:
		delete(waiting, reply[1])
		return nil
	case err != nil && !errors.Is(err, goredis.Nil):
		return err
	}
	pairs, err := liveScript.Run(
		ctx, n.client.rdb, []string{n.client.keys.nodes, n.client.keys.applied}, nodeLife.Milliseconds(),
	).StringSlice()
	if err != nil {
		return err
	}
	live := make(map[string]bool, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		applied, err := strconv.ParseInt(pairs[i+1], 10, 64)
		live[pairs[i]] = err != nil || applied < version
	}
	for node := range waiting {
		if !live[node] {
			delete(waiting, node)
		}
	}
	return nil
}
