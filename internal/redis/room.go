package redis

import (
	"context"
	"fmt"
	"strings"

	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
)

// room is a ledger.Room on the wire. Amounts are plain micro-USD: the balance of a campaign that is not prepaid
// is the largest integer, which the decimal form of money refuses.
type room struct {
	CampaignID uuid.UUID `json:"id"`
	Version    int64     `json:"v"`
	Day        int32     `json:"day"`
	Daily      int64     `json:"daily"`
	Today      int64     `json:"today"`
	Total      int64     `json:"total"`
	Balance    int64     `json:"balance"`
}

func roomOf(r ledger.Room) room {
	return room{
		CampaignID: r.CampaignID, Version: r.Version, Day: int32(r.Day),
		Daily: int64(r.Daily), Today: int64(r.Today), Total: int64(r.Total), Balance: int64(r.Balance),
	}
}

func (r room) ledger() ledger.Room {
	return ledger.Room{
		CampaignID: r.CampaignID, Version: r.Version, Day: ledger.Day(r.Day),
		Daily: money.Micros(r.Daily), Today: money.Micros(r.Today), Total: money.Micros(r.Total), Balance: money.Micros(r.Balance),
	}
}

// roomsScript writes rooms that are newer than what is there and tells subscribers about those. Versions are
// compared as decimal text: a Lua number would round large ones.
// KEYS: rooms. ARGV: channel, then id, version, JSON of each.
var roomsScript = goredis.NewScript(`
local accepted = {}
for i = 2, #ARGV, 3 do
  local version = ARGV[i+1]
  local old = redis.call('HGET', KEYS[1], ARGV[i])
  local current = old and string.match(old, '^%d+')
  if not current or #current < #version or (#current == #version and current < version) then
    redis.call('HSET', KEYS[1], ARGV[i], version .. '|' .. ARGV[i+2])
    accepted[#accepted+1] = ARGV[i+2]
  end
end
if #accepted > 0 then
  redis.call('PUBLISH', ARGV[1], '{"rooms":[' .. table.concat(accepted, ',') .. ']}')
end
return #accepted`)

// PublishRooms writes absolute values, never an older version over a newer one, and tells every subscriber
// about those that were new. Versions must not be negative.
func (c *Catalog) PublishRooms(ctx context.Context, rooms []ledger.Room) error {
	for len(rooms) > 0 {
		chunk := rooms[:min(writeChunk, len(rooms))]
		rooms = rooms[len(chunk):]
		args := make([]any, 0, 1+3*len(chunk))
		args = append(args, c.keys.channel)
		for _, r := range chunk {
			if r.Version < 0 {
				return fmt.Errorf("room of campaign %s has version %d", r.CampaignID, r.Version)
			}
			text, err := json.Marshal(roomOf(r))
			if err != nil {
				return fmt.Errorf("encode room of campaign %s: %w", r.CampaignID, err)
			}
			args = append(args, r.CampaignID.String(), r.Version, text)
		}
		if err := roomsScript.Run(ctx, c.client.rdb, []string{c.keys.rooms}, args...).Err(); err != nil {
			return c.client.explain(err)
		}
	}
	return nil
}

// Rooms loads every room, in no order.
func (c *Catalog) Rooms(ctx context.Context) ([]ledger.Room, error) {
	found := make(map[string]ledger.Room)
	for cursor := uint64(0); ; {
		pairs, next, err := c.client.rdb.HScan(ctx, c.keys.rooms, cursor, "", readChunk).Result()
		if err != nil {
			return nil, c.client.explain(err)
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			var r room
			_, text, _ := strings.Cut(pairs[i+1], "|")
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return nil, fmt.Errorf("decode room of campaign %s: %w", pairs[i], err)
			}
			found[pairs[i]] = r.ledger() // a scan may show one twice
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	rooms := make([]ledger.Room, 0, len(found))
	for _, r := range found {
		rooms = append(rooms, r)
	}
	return rooms, nil
}
