package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"adnet/internal/ledger"
	"adnet/internal/money"

	goredis "github.com/redis/go-redis/v9"
)

const (
	reservationMemory = (ledger.MaxReservation + 10) * time.Minute // how long an untouched key is kept
	gatherFor         = time.Second                                // how long nodes say what they hold before a rebuilt store grants
	claimChunk        = 100                                        // claims per script
)

// Reservations is what the nodes hold of campaigns' room: prices of served ads until their beacon or expiry, and what
// a node may still reserve without asking. Its keys carry the epoch, so that nothing of a lost or older store is ever
// read in a new one.
//
// Per campaign: `g:minute:window` is the sum that nodes hold, `s:minute` what settlement released of it, and `out` what
// is reserved: over the minutes the held less the released, never below 0. What is past its window counts only as
// far as it was released, because releases do not say which window they are of. Time is the projector's last beat: while
// nobody projects releases nothing expires.
type Reservations struct {
	client *Client
	prefix string
	keys   []string // state, rooms, nodes: the same for every call
}

// NewReservations makes a view of the reservations. It does no I/O; its methods may be called from any goroutine.
func NewReservations(client *Client) *Reservations {
	c := NewCatalog(client)
	return &Reservations{client: client, prefix: c.keys.reservations, keys: []string{c.keys.reservations + "state", c.keys.rooms, c.keys.nodes}}
}

// reservationKeys are the names of an epoch.
type reservationKeys struct{ prefix string }

func keysOf(prefix string, epoch int64) reservationKeys {
	return reservationKeys{prefix + strconv.FormatInt(epoch, 10) + ":"}
}

func (k reservationKeys) seen() string                { return k.prefix + "seen" }
func (k reservationKeys) campaign(id string) string   { return k.prefix + "c:" + id }
func (k reservationKeys) advertiser(id string) string { return k.prefix + "a:" + id }
func (k reservationKeys) holder(id, node, as string) string {
	return k.prefix + "n:" + id + ":" + node + as
}

// luaReservations are the functions that both writers share.
//
//	num(x)                  x as an integer in decimal
//	recompute(key, beat)    what is reserved of a campaign at the beat's minute; forgets what is long past
//	reserve(...)            keeps out and the campaign's part of its advertiser's sum
var luaReservations = `
local KEEP, TTL = ` + strconv.Itoa(ledger.MaxReservation+5) + `, ` + strconv.FormatInt(reservationMemory.Milliseconds(), 10) + `
local SKEW = ` + strconv.FormatInt(ledger.MaxClockSkew.Milliseconds(), 10) + `
local function num(x) return string.format('%.0f', x) end
local function recompute(key, beat)
  local all = redis.call('HGETALL', key)
  local alive, late, released = {}, {}, {} -- by the minute's text: an embedded server makes arrays of numbers
  for i = 1, #all, 2 do
    local amount = tonumber(all[i+1])
    local kind, m, w = string.match(all[i], '^([gs]):(%d+):?(%d*)$')
    if kind then
      local minute = tonumber(m)
      if minute + KEEP < beat then
        redis.call('HDEL', key, all[i])
      elseif kind == 's' then
        released[m] = amount
      elseif minute + tonumber(w) + 2 > beat then
        alive[m] = (alive[m] or 0) + amount
      else
        late[m] = (late[m] or 0) + amount
      end
    end
  end
  local out = 0 -- of a minute that is late as a whole nothing counts
  for m, amount in pairs(alive) do
    local r = released[m] or 0
    out = out + math.max(0, amount + math.min(late[m] or 0, r) - r)
  end
  return out
end
local function reserve(key, account, limited, out, beat)
  local counted = tonumber(redis.call('HGET', key, 'counted') or '0')
  local count = limited and out or 0
  if count ~= counted then
    redis.call('HINCRBY', account, 'out', num(count - counted))
    redis.call('PEXPIRE', account, TTL)
  end
  redis.call('HSET', key, 'out', num(out), 'counted', num(count), 'at', num(beat))
  redis.call('PEXPIRE', key, TTL)
end
`

// claimScript is a node's exchange. It answers state, epoch, live nodes, how many ms the node's clock is ahead, then amount
// and refusal of each claim. A new day's budget is for auctions that every node dates so, and none is granted of a room
// that is of a later day.
// KEYS: state, rooms, nodes, seen, then campaign, advertiser, holder of each claim.
// ARGV: epoch, node, seq, acked, life of a node in ms, the node's clock in ms (0: unknown), then 9 of each claim.
var claimScript = goredis.NewScript(luaReservations + `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local live = math.max(1, redis.call('ZCOUNT', KEYS[3], '(' .. num(now - ARGV[5]), '+inf'))
local state = redis.call('HMGET', KEYS[1], 'epoch', 'opens', 'beat')
local epoch, mine = tonumber(state[1] or '0'), tonumber(ARGV[1])
local clock, ahead = tonumber(ARGV[6]), 0
if clock > 0 then ahead = clock - now end
if math.abs(ahead) > SKEW then return {'skewed', '0', live, ahead} end
if epoch < mine then
  redis.call('DEL', KEYS[1])
  return {'lost', '0', live, ahead}
end
if epoch == 0 then return {'lost', '0', live, ahead} end
if epoch > mine then return {'moved', state[1], live, ahead} end
local seen = tonumber(redis.call('HGET', KEYS[4], ARGV[2]) or '0')
if seen < tonumber(ARGV[4]) then
  redis.call('DEL', KEYS[1])
  return {'lost', '0', live, ahead}
end
local seq = tonumber(ARGV[3])
if seen < seq then
  redis.call('HSET', KEYS[4], ARGV[2], ARGV[3])
  redis.call('PEXPIRE', KEYS[4], TTL)
end
local beat, day = math.floor(tonumber(state[3]) / 60000), math.floor((now - 2 * SKEW) / 86400000)
local opening = now < tonumber(state[2])
local answer = {'ok', state[1], live, ahead}
local k = 5
for i = 7, #ARGV, 9 do
  local key, account, holder = KEYS[k], KEYS[k+1], KEYS[k+2]
  k = k + 3
  local minute, window, exact = ARGV[i+1], ARGV[i+2], ARGV[i+3] == '1'
  local want, least, step, price = tonumber(ARGV[i+4]), tonumber(ARGV[i+5]), tonumber(ARGV[i+6]), tonumber(ARGV[i+7])
  local field = minute .. ':' .. window
  local held = redis.call('HMGET', holder, field, 'q:' .. field)
  local old, refusal = tonumber(held[1] or '0'), '0'
  local granted, behind = old, held[2] and tonumber(held[2]) >= seq
  if behind then
    -- a later call has spoken: nothing changes
  elseif exact then
    granted = want
  elseif want > old then
    local room = redis.call('HGET', KEYS[2], ARGV[i])
    if opening then refusal = '3'
    elseif not room then refusal = '2'
    else
      local r = cjson.decode(string.match(room, '|(.*)$'))
      local today = r.today
      if day > r.day then today = r.daily elseif day < r.day then today = 0 end
      local budget, limited = math.min(today, r.total), r.balance < 9e18
      local known = redis.call('HMGET', key, 'out', 'at')
      local out = tonumber(known[1] or '0')
      if known[2] and tonumber(known[2]) ~= beat then
        out = recompute(key, beat)
        reserve(key, account, limited, out, beat)
      end
      local free = budget - out
      if limited then
        free = math.min(free, r.balance - tonumber(redis.call('HGET', account, 'out') or '0'))
        budget = math.min(budget, r.balance)
      end
      local delta = math.min(want - old, math.max(step, math.floor(free / (2 * live))), free)
      delta = delta - delta % step
      if budget < price or old + delta < least or delta <= 0 then refusal = '1'
      else
        granted = old + delta
        redis.call('HSET', key, 'limited', limited and '1' or '0')
      end
    end
  end
  if granted ~= old or exact and not behind then
    if not held[1] and redis.call('HLEN', holder) > 256 then
      for _, f in ipairs(redis.call('HKEYS', holder)) do
        local m = string.match(f, '^q?:?(%d+):')
        if m and tonumber(m) + KEEP < beat then redis.call('HDEL', holder, f) end
      end
    end
    redis.call('HSET', holder, field, num(granted), 'q:' .. field, ARGV[3])
    redis.call('PEXPIRE', holder, TTL)
  end
  if granted ~= old then
    redis.call('HINCRBY', key, 'g:' .. field, num(granted - old))
    local out = tonumber(redis.call('HGET', key, 'out') or '0')
    local limited = redis.call('HGET', key, 'limited') == '1'
    if exact then
      local room = redis.call('HGET', KEYS[2], ARGV[i])
      if room then limited = cjson.decode(string.match(room, '|(.*)$')).balance < 9e18 end
      redis.call('HSET', key, 'limited', limited and '1' or '0')
      out = recompute(key, beat)
    else out = out + granted - old end
    reserve(key, account, limited, out, beat)
  end
  answer[#answer+1] = num(granted)
  answer[#answer+1] = refusal
end
return answer`)

// Claim exchanges what a node holds. Claims of one call are counted together for up to 100 claims, and in pieces above;
// each may be repeated. Errors: Redis does not answer; what was counted is then unknown, and the next call about the
// same claims finds out.
func (r *Reservations) Claim(ctx context.Context, call ledger.ClaimCall) (reply ledger.ClaimReply, err error) {
	reply.Claims = make([]ledger.Claimed, 0, len(call.Claims))
	for rest := call.Claims; ; {
		chunk := rest[:min(claimChunk, len(rest))]
		rest = rest[len(chunk):]
		keys, args := r.claimArgs(call, chunk)
		values, err := claimScript.Run(ctx, r.client.rdb, keys, args...).Slice()
		if err != nil {
			return ledger.ClaimReply{}, r.client.explain(err)
		}
		if err := decodeClaims(values, len(chunk), &reply); err != nil {
			return ledger.ClaimReply{}, r.client.explain(err)
		}
		if len(rest) == 0 || reply.State != ledger.ClaimsCounted {
			return reply, nil
		}
	}
}

func (r *Reservations) claimArgs(call ledger.ClaimCall, claims []ledger.Claim) (keys []string, args []any) {
	names := keysOf(r.prefix, call.Epoch)
	keys = append(make([]string, 0, 4+3*len(claims)), r.keys...)
	keys = append(keys, names.seen())
	clock := int64(0)
	if !call.Clock.IsZero() {
		clock = call.Clock.UnixMilli()
	}
	args = append(make([]any, 0, 6+9*len(claims)), call.Epoch, call.Node, call.Seq, call.Acked, nodeLife.Milliseconds(), clock)
	for i := range claims {
		c := &claims[i]
		id, exact, as := c.CampaignID.String(), 0, ""
		if c.Exact {
			exact = 1
		}
		if c.Bid {
			as = "/bid"
		}
		keys = append(keys, names.campaign(id), names.advertiser(c.AdvertiserID.String()), names.holder(id, call.Node, as))
		args = append(args, id, int64(c.Minute), c.Window, exact, int64(c.Held), int64(c.Least), int64(max(c.Step, 1)), int64(c.Price), as)
	}
	return keys, args
}

var claimStates = map[string]ledger.ClaimState{
	"ok": ledger.ClaimsCounted, "lost": ledger.ClaimsLost, "moved": ledger.ClaimsMoved, "skewed": ledger.ClaimsSkewed,
}

const claimHead = 4 // values before those of the claims

func decodeClaims(values []any, claims int, reply *ledger.ClaimReply) error {
	if len(values) < claimHead {
		return errors.New("short answer about reservations")
	}
	state, _ := values[0].(string)
	var known bool
	if reply.State, known = claimStates[state]; !known {
		return fmt.Errorf("answer %q about reservations", state)
	}
	epoch, _ := values[1].(string)
	live, _ := values[2].(int64)
	var err error
	if reply.Epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil {
		return err
	}
	ahead, _ := values[3].(int64)
	reply.Nodes, reply.Ahead = int(live), time.Duration(ahead)*time.Millisecond
	if reply.State != ledger.ClaimsCounted {
		return nil
	}
	if len(values) != claimHead+2*claims {
		return fmt.Errorf("%d answers to %d claims", (len(values)-claimHead)/2, claims)
	}
	for i := claimHead; i < len(values); i += 2 {
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
		reply.Claims = append(reply.Claims, ledger.Claimed{Held: money.Micros(held), Refusal: ledger.Refusal(why)})
	}
	return nil
}

// beatScript notes that a projector is at work and answers the epoch of the store, 0 when it is empty, older than what
// the projector has seen, or not rebuilt. KEYS: state, seen. ARGV: epoch, projector, seq, acked.
var beatScript = goredis.NewScript(`
local epoch, mine = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0'), tonumber(ARGV[1])
if epoch == 0 or epoch > mine then return string.format('%.0f', epoch) end
local seen = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or '0')
if epoch < mine or seen < tonumber(ARGV[4]) then
  redis.call('DEL', KEYS[1])
  return '0'
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ` + strconv.FormatInt(reservationMemory.Milliseconds(), 10) + `)
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'beat', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)))
return ARGV[1]`)

// openScript begins an epoch unless a later one has begun, and answers the one that holds.
// KEYS: state. ARGV: epoch, ms that nodes have to say what they hold.
var openScript = goredis.NewScript(`
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch and tonumber(epoch) >= tonumber(ARGV[1]) then return epoch end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'opens', string.format('%.0f', now + ARGV[2]), 'beat', string.format('%.0f', now))
return ARGV[1]`)

// Beat says that this writer projects, and answers the epoch of the reservations as they are there: the writer's own
// when all is well, another when somebody rebuilt them, 0 when they are lost and have to be rebuilt.
func (c *Catalog) Beat(ctx context.Context, epoch int64) (current int64, err error) {
	c.mu.Lock()
	if c.reservations != epoch {
		c.reservations, c.beats, c.beatsAcked = epoch, 0, 0
	}
	c.beats++
	seq, acked := c.beats, c.beatsAcked
	c.mu.Unlock()
	keys := []string{c.keys.reservations + "state", keysOf(c.keys.reservations, epoch).seen()}
	text, err := beatScript.Run(ctx, c.client.rdb, keys, epoch, "projector/"+c.writer, seq, acked).Text()
	if err != nil {
		return 0, c.client.explain(err)
	}
	if current, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, c.client.explain(err)
	}
	if current == epoch {
		c.mu.Lock()
		if c.reservations == epoch {
			c.beatsAcked = max(c.beatsAcked, seq)
		}
		c.mu.Unlock()
	}
	return current, nil
}

// Rebuild makes rooms be published for epoch from now on, which nobody uses before [Catalog.Open].
func (c *Catalog) Rebuild(epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reservations, c.beats, c.beatsAcked = epoch, 0, 0
}

// Open lets nodes work in epoch: its rooms must all be published. It answers the epoch that holds, which is a later one
// when another writer was quicker. For a second after it nothing is granted: the nodes first say what they hold.
func (c *Catalog) Open(ctx context.Context, epoch int64) (current int64, err error) {
	text, err := openScript.Run(ctx, c.client.rdb, []string{c.keys.reservations + "state"}, epoch, gatherFor.Milliseconds()).Text()
	if err != nil {
		return 0, c.client.explain(err)
	}
	current, err = strconv.ParseInt(text, 10, 64)
	return current, err
}

// Outstanding is what is reserved of a campaign now, micro-USD, as the last writer counted it; 0 when nothing is known.
func (r *Reservations) Outstanding(ctx context.Context, campaign string) (money.Micros, error) {
	epoch, err := r.client.rdb.HGet(ctx, r.keys[0], "epoch").Int64()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return 0, r.client.explain(err)
	}
	out, err := r.client.rdb.HGet(ctx, keysOf(r.prefix, epoch).campaign(campaign), "out").Int64()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return 0, r.client.explain(err)
	}
	return money.Micros(out), nil
}
