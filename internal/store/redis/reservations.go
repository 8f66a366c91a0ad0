package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

const (
	reservationMemory = (reserve.MaxMinutes + 10) * time.Minute // how long an untouched key is stored
	leaseChunk        = 100                                     // requests per script
	holderFields      = 256                                     // a holder with more is cleaned up
)

// reservationArgs are the first arguments of every script that writes reservations; see
// reservations.lua.
var reservationArgs = [...]any{
	int64(reserve.MaxMinutes + 5), reservationMemory.Milliseconds(), reserve.MaxClockSkew.Milliseconds(),
}

// Reservations counts the nodes' shares of campaigns' rooms: prices of served ads until their
// beacon or expiry, and the amounts that a node may still reserve without a call. Its keys carry
// the epoch, so that a new store never reads data of a lost or older one.
//
// Per campaign: `g:minute:window` is the sum that nodes hold, `s:minute` the part that settlement
// released, and `out` the reserved amount: the held less the released of each minute, never below
// 0. An amount past its window counts only as far as it was released, because releases do not name
// their window. Time is the projector's last beat: without a projector of releases nothing expires.
type Reservations struct {
	client *Client
}

// NewReservations returns a view of the reservations. It does no I/O; its methods may be called
// from any goroutine.
func NewReservations(client *Client) *Reservations {
	return &Reservations{client}
}

// Exchange changes the amounts that a node holds. Up to 100 requests of one call are counted
// together, more in pieces of 100; each may be repeated. Errors: Redis does not answer. The call
// may or may not have counted then, and the next call about the same requests finds out.
func (r *Reservations) Exchange(ctx context.Context, call reserve.Call) (reply reserve.Reply, err error) {
	reply.Granted = make([]reserve.LeaseGrant, 0, len(call.Requests))
	for rest := call.Requests; ; {
		chunk := rest[:min(leaseChunk, len(rest))]
		rest = rest[len(chunk):]
		keys, args := r.leaseArgs(call, chunk)
		values, err := leaseScript.Run(ctx, r.client.rdb, keys, args...).Slice()
		if err != nil {
			return reserve.Reply{}, r.client.explain(err)
		}
		if err := decodeGrants(values, len(chunk), &reply); err != nil {
			return reserve.Reply{}, r.client.explain(err)
		}
		if len(rest) == 0 || reply.State != reserve.Counted {
			return reply, nil
		}
	}
}

func (r *Reservations) leaseArgs(call reserve.Call, requests []reserve.LeaseRequest) (keys []string, args []any) {
	k := &r.client.keys
	names := k.reserved(call.Epoch)
	keys = append(make([]string, 0, 4+3*len(requests)), k.reservations, k.rooms, k.nodes, names.seen())
	clock := int64(0)
	if !call.Clock.IsZero() {
		clock = call.Clock.UnixMilli()
	}
	args = append(make([]any, 0, 10+8*len(requests)), reservationArgs[:]...)
	args = append(args, call.Epoch, call.Node, call.Seq, call.Acked, nodeLife.Milliseconds(), clock, holderFields)
	for i := range requests {
		c := &requests[i]
		id, exact, as := c.CampaignID.String(), 0, ""
		if c.Exact {
			exact = 1
		}
		if c.Bid {
			as = "/bid"
		}
		keys = append(
			keys, names.campaign(id), names.advertiser(c.AdvertiserID.String()), names.holder(id, call.Node, as),
		)
		args = append(
			args, id, int64(c.Minute), c.Window, exact, int64(c.Amount), int64(c.Least), int64(max(c.Step, 1)),
			int64(c.Price),
		)
	}
	return keys, args
}

var claimStates = map[string]reserve.State{
	"ok": reserve.Counted, "lost": reserve.Lost, "moved": reserve.Moved, "skewed": reserve.Skewed,
}

const leaseHead = 6 // values before those of the requests

func decodeGrants(values []any, requests int, reply *reserve.Reply) error {
	if len(values) < leaseHead {
		return errors.New("short reply about reservations")
	}
	state, _ := values[0].(string)
	var known bool
	if reply.State, known = claimStates[state]; !known {
		return fmt.Errorf("reply %q about reservations", state)
	}
	epoch, _ := values[1].(string)
	live, _ := values[2].(int64)
	var err error
	if reply.Epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil {
		return err
	}
	ahead, _ := values[3].(int64)
	idle, _ := values[4].(int64)
	grants, _ := values[5].(int64)
	reply.Grants = grants == 1
	reply.Nodes, reply.Ahead, reply.Idle = int(live), time.Duration(ahead)*time.Millisecond,
		time.Duration(idle)*time.Millisecond
	if reply.State != reserve.Counted {
		return nil
	}
	if len(values) != leaseHead+2*requests {
		return fmt.Errorf("%d replies to %d requests", (len(values)-leaseHead)/2, requests)
	}
	for i := leaseHead; i < len(values); i += 2 {
		amount, _ := values[i].(string)
		refusal, _ := values[i+1].(string)
		held, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return err
		}
		why, err := strconv.Atoi(refusal)
		if err != nil {
			return err
		}
		reply.Granted = append(
			reply.Granted, reserve.LeaseGrant{Amount: money.Micros(held), Refusal: reserve.Refusal(why)},
		)
	}
	return nil
}

// Outstanding returns the currently reserved amount of a campaign, micro-USD, as the last writer
// counted it; 0 if unknown.
func (r *Reservations) Outstanding(ctx context.Context, campaign string) (money.Micros, error) {
	epoch, err := r.client.rdb.HGet(ctx, r.client.keys.reservations, "epoch").Int64()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return 0, r.client.explain(err)
	}
	out, err := r.client.rdb.HGet(ctx, r.client.keys.reserved(epoch).campaign(campaign), "out").Int64()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return 0, r.client.explain(err)
	}
	return money.Micros(out), nil
}
