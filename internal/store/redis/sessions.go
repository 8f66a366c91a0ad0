package redis

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/campaign"
)

// sessionLife is the life of a session's day after its end: a late beacon still finds it.
const sessionLife = 2 * time.Hour

// Sessions stores the ads shown to each session of a day: one hash per session and day, with the
// auction id as field, that expires two hours after the day. The nodes share it; losing it with
// Redis is tolerable.
type Sessions struct{ client *Client }

// NewSessions returns a view of the sessions. It does no I/O.
func NewSessions(client *Client) *Sessions { return &Sessions{client} }

const turnsField = "t"

// exposureSize is the length of a field's value: campaign, until in unix seconds, turn, 1 when
// confirmed.
const exposureSize = 16 + 8 + 2 + 1

// Session reads the known state of a session's day: its exposures in no particular order, and the
// number of counted turns.
func (s *Sessions) Session(
	ctx context.Context, session campaign.SessionKey, day int32,
) (found []campaign.Exposure, turns int, err error) {
	fields, err := s.client.rdb.HGetAll(ctx, s.client.keys.session(session, day)).Result()
	if err != nil {
		return nil, 0, s.client.explain(err)
	}
	for field, value := range fields {
		if field == turnsField {
			turns, _ = strconv.Atoi(value)
			continue
		}
		if len(field) != 16 || len(value) != exposureSize {
			continue // of another version
		}
		e := campaign.Exposure{
			Kind: campaign.Decided, Session: session, Day: day,
			Until: time.Unix(int64(binary.BigEndian.Uint64([]byte(value[16:]))), 0),
			Turn:  binary.BigEndian.Uint16([]byte(value[24:])),
		}
		copy(e.Auction[:], field)
		copy(e.Campaign[:], value)
		if value[exposureSize-1] == 1 {
			e.Kind = campaign.Confirmed
		}
		found = append(found, e)
	}
	return found, turns, nil
}

// mostConfirmed is the maximum number of auctions per call of the script, so that a session shared
// by a crowd does not delay other clients.
const mostConfirmed = 1_000

// Record stores exposures: decisions and turns in one pipeline, and confirmations of earlier
// decisions in another. Decisions and confirmations may be repeated; a repeated turn counts again.
func (s *Sessions) Record(ctx context.Context, list []campaign.Exposure) error {
	if err := s.decide(ctx, list); err != nil {
		return s.client.explain(err)
	}
	return s.client.explain(s.confirm(ctx, list))
}

// decide writes the decisions and turns of a list.
func (s *Sessions) decide(ctx context.Context, list []campaign.Exposure) error {
	pipe := s.client.rdb.Pipeline()
	for i := range list {
		e := &list[i]
		if e.Kind == campaign.Confirmed {
			continue
		}
		key := s.client.keys.session(e.Session, e.Day)
		if e.Kind == campaign.Turned {
			pipe.HIncrBy(ctx, key, turnsField, 1)
		} else {
			value := make([]byte, 0, exposureSize)
			value = append(value, e.Campaign[:]...)
			value = binary.BigEndian.AppendUint64(value, uint64(e.Until.Unix()))
			value = binary.BigEndian.AppendUint16(value, e.Turn)
			pipe.HSetNX(ctx, key, string(e.Auction[:]), append(value, 0))
		}
		pipe.PExpireAt(ctx, key, time.Unix(int64(e.Day+1)*86400, 0).Add(sessionLife))
	}
	_, err := pipe.Exec(ctx)
	return err
}

// confirm writes the confirmations of a list, those of a session with one call of the script
// (benchmark row beacon).
func (s *Sessions) confirm(ctx context.Context, list []campaign.Exposure) error {
	type session struct {
		key campaign.SessionKey
		day int32
	}
	auctions := make(map[session][]any)
	for i := range list {
		if e := &list[i]; e.Kind == campaign.Confirmed {
			of := session{e.Session, e.Day}
			auctions[of] = append(auctions[of], string(e.Auction[:]))
		}
	}
	if len(auctions) == 0 {
		return nil
	}
	run := func() error {
		_, err := s.client.rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for of, all := range auctions {
				for some := range slices.Chunk(all, mostConfirmed) {
					confirmScript.EvalSha(ctx, p, []string{s.client.keys.session(of.key, of.day)}, some...)
				}
			}
			return nil
		})
		return err
	}
	err := run()
	if goredis.HasErrorPrefix(err, "NOSCRIPT") { // a restarted Redis has no scripts
		if err = confirmScript.Load(ctx, s.client.rdb).Err(); err == nil {
			err = run()
		}
	}
	return err
}
