-- A node's exchange: what it holds and wants of each campaign and minute. A new day's budget is for
-- auctions that every node dates so, and nothing is granted of a room that is of a later day.
-- KEYS: state, rooms, nodes, seen, then campaign, advertiser, holder of each request.
-- ARGV: as reservations.lua says, then epoch, node, number of the call, number of the last call
-- that was answered, life of a node in ms, the node's clock in ms (0: unknown), most fields of a
-- holder, then of each request campaign, minute, window in minutes, 1 when exact, amount, least,
-- step, price.
-- Answers state, epoch, live nodes, how many ms the node's clock is ahead, how many ms ago a
-- projector was last at work and 1 when the epoch grants (both 0 unless the requests count), then
-- amount and refusal of each request.
local STATE, ROOMS, NODES, SEEN = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mine, node, seq, acked = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local CLAIM_KEYS, CLAIM_ARGS = 3, 8
local NOT_REFUSED, NO_ROOM, NO_CAMPAIGN, OPENING = '0', '1', '2', '3' -- reserve.Refusal

local now = clock()
local live = math.max(1, redis.call('ZCOUNT', NODES, '(' .. num(now - ARGV[8]), '+inf'))
local state = redis.call('HMGET', STATE, 'epoch', 'opens', 'beat')
local epoch, ahead = tonumber(state[1] or '0'), 0
if tonumber(ARGV[9]) > 0 then ahead = tonumber(ARGV[9]) - now end

-- lost removes the store: what forgot an epoch or an answered call is another one, or an old one.
local function lost()
  redis.call('DEL', STATE)
  return 'lost', '0'
end

-- door says which state the call is answered, and the epoch with it: only 'ok' counts its requests.
local function door()
  if math.abs(ahead) > SKEW then return 'skewed', '0' end
  if epoch == 0 or epoch < mine then return lost() end
  if epoch > mine then return 'moved', state[1] end
  local seen = tonumber(redis.call('HGET', SEEN, node) or '0')
  if seen < acked then return lost() end
  if seen < seq then
    redis.call('HSET', SEEN, node, ARGV[6])
    redis.call('PEXPIRE', SEEN, TTL)
  end
  return 'ok', state[1]
end

local answered, in_epoch = door()
local answer = {answered, in_epoch, live, ahead, 0, 0}
if answered ~= 'ok' then return answer end

local beat = math.floor(tonumber(state[3]) / 60000)
local day = math.floor((now - 2 * SKEW) / 86400000)
local opening = now < tonumber(state[2])
answer[5], answer[6] = math.max(0, now - tonumber(state[3])), opening and 0 or 1

-- room_of is the room of a campaign, nil when there is none.
local function room_of(id)
  local room = redis.call('HGET', ROOMS, id)
  return room and cjson.decode(string.match(room, '|(.*)$'))
end

-- budget_of is what the room has for auctions of today.
local function budget_of(room)
  local today = room.today
  if day > room.day then today = room.daily elseif day < room.day then today = 0 end
  return math.min(today, room.total)
end

-- free is what of a campaign is not reserved, and the most that could be.
local function free(room, key, account)
  local limited, budget = prepaid(room), budget_of(room)
  local known = redis.call('HMGET', key, 'out', 'at')
  local out = tonumber(known[1] or '0')
  if known[2] and tonumber(known[2]) ~= beat then
    out = recompute(key, beat)
    reserve(key, account, limited, out, beat)
  end
  local left = budget - out
  if (room.open or 0) > 0 then left = math.min(left, room.open - out) end
  if not limited then return left, budget end
  local owed = tonumber(redis.call('HGET', account, 'out') or '0')
  return math.min(left, room.balance - owed), math.min(budget, room.balance)
end

-- grant is how much more than old is granted, and why nothing is. A node gets at most its share of
-- half of what is free, so that the others find some, and whole steps.
local function grant(id, key, account, old, want, least, step, price)
  if opening then return 0, OPENING end
  local room = room_of(id)
  if not room then return 0, NO_CAMPAIGN end
  local left, budget = free(room, key, account)
  local more = math.min(want - old, math.max(step, math.floor(left / (2 * live))), left)
  more = more - more % step
  if budget < price or old + more < least or more <= 0 then return 0, NO_ROOM end
  redis.call('HSET', key, 'limited', prepaid(room) and '1' or '0')
  return more, NOT_REFUSED
end

-- tidy removes from a full holder the minutes that are long past.
local function tidy(holder)
  if redis.call('HLEN', holder) <= tonumber(ARGV[10]) then return end
  for _, field in ipairs(redis.call('HKEYS', holder)) do
    local minute = string.match(field, '^q?:?(%d+):')
    if minute and tonumber(minute) + KEEP < beat then redis.call('HDEL', holder, field) end
  end
end

-- hold changes what the nodes hold of a campaign by more. After what a node gave back exactly,
-- everything is counted anew.
local function hold(id, key, account, field, more, exact)
  redis.call('HINCRBY', key, 'g:' .. field, num(more))
  local out
  if exact then
    local room = room_of(id)
    if room then redis.call('HSET', key, 'limited', prepaid(room) and '1' or '0') end
    out = recompute(key, beat)
  else
    out = tonumber(redis.call('HGET', key, 'out') or '0') + more
  end
  reserve(key, account, redis.call('HGET', key, 'limited') == '1', out, beat)
end

-- lease answers one request: what the node holds now, and why it is not more.
local function lease(key, account, holder, id, minute, window, exact, amount, least, step, price)
  local field = minute .. ':' .. window
  local held = redis.call('HMGET', holder, field, 'q:' .. field)
  local old, more, refusal = tonumber(held[1] or '0'), 0, NOT_REFUSED
  if held[2] and tonumber(held[2]) >= seq then return old, refusal end -- a later call has spoken
  local told = held[2] == '0' and not exact -- in the node's name, which now speaks for itself and has nothing
  if told and old > 0 then
    hold(id, key, account, field, -old, true)
    old = 0
  end
  if exact then
    more = amount - old
  elseif amount > old then
    more, refusal = grant(id, key, account, old, amount, least, step, price)
  end
  if more ~= 0 or exact or told then
    if not held[1] then tidy(holder) end
    redis.call('HSET', holder, field, num(old + more), 'q:' .. field, ARGV[6])
    redis.call('PEXPIRE', holder, TTL)
  end
  if more ~= 0 then hold(id, key, account, field, more, exact) end
  return old + more, refusal
end

local k = 5
for i = 11, #ARGV, CLAIM_ARGS do
  local held, refusal = lease(KEYS[k], KEYS[k+1], KEYS[k+2], ARGV[i], ARGV[i+1], ARGV[i+2], ARGV[i+3] == '1',
    tonumber(ARGV[i+4]), tonumber(ARGV[i+5]), tonumber(ARGV[i+6]), tonumber(ARGV[i+7]))
  k = k + CLAIM_KEYS
  answer[#answer+1] = num(held)
  answer[#answer+1] = refusal
end
return answer
