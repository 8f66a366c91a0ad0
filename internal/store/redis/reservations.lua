-- What the scripts that write reservations share. ARGV of each begins with the minutes after which a
-- reservation is forgotten, the life of an untouched key in ms, and the largest difference of clocks in ms.
local KEEP, TTL, SKEW = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- minutes reads a campaign's key by minute: what is held and inside its window, what is held and past it,
-- what was released. It removes what is long past. Minutes stay text: an embedded server makes arrays of
-- numbers.
local function minutes(key, beat)
  local all = redis.call('HGETALL', key)
  local alive, late, released = {}, {}, {}
  for i = 1, #all, 2 do
    local amount = tonumber(all[i+1])
    local kind, m, window = string.match(all[i], '^([gs]):(%d+):?(%d*)$')
    if kind then
      local minute = tonumber(m)
      if minute + KEEP < beat then
        redis.call('HDEL', key, all[i])
      elseif kind == 's' then
        released[m] = amount
      elseif minute + tonumber(window) + 2 > beat then
        alive[m] = (alive[m] or 0) + amount
      else
        late[m] = (late[m] or 0) + amount
      end
    end
  end
  return alive, late, released
end

-- recompute is what is reserved of a campaign at the beat's minute. Of a minute that is late as a whole
-- nothing counts.
local function recompute(key, beat)
  local alive, late, released = minutes(key, beat)
  local out = 0
  for m, amount in pairs(alive) do
    local r = released[m] or 0
    out = out + math.max(0, amount + math.min(late[m] or 0, r) - r)
  end
  return out
end

-- reserve keeps what is reserved of a campaign, and its part of its advertiser's sum.
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

-- prepaid says whether the balance limits a room. It is the largest integer where it does not, which a
-- Lua number rounds.
local function prepaid(room) return room.balance < 9e18 end
