-- Writes rooms that are newer than what is there, with what settlement released of their reservations,
-- and tells subscribers about those that were new.
-- KEYS: rooms, state, then campaign, advertiser of each.
-- ARGV: as reservations.lua says, then channel, day of the rooms, then of each campaign, version, JSON,
-- 1 when the balance limits it, number of releases, and minute, amount of each release.
-- Answers the campaigns of which there is a newer version. A room and its releases are of one instant
-- of the ledger, and are seen at one instant here: between them a price would be free twice, or reserved
-- twice. Rooms of a day that is over by this clock change nothing, and the answer is past: they do not
-- show what is spent today, while what they release was perhaps spent today.
local ROOMS, STATE = KEYS[1], KEYS[2]
local channel, day = ARGV[4], tonumber(ARGV[5])
if day < math.floor((clock() - 2 * SKEW) / 86400000) then return {'past'} end
local beat = math.floor(tonumber(redis.call('HGET', STATE, 'beat') or '0') / 60000)

-- older compares versions as decimal text: a Lua number would round large ones.
local function older(a, b) return #a < #b or #a == #b and a < b end

local newer = {}

-- write keeps a room and says whether it was new. The same version is written again, perhaps under
-- another seal or in another epoch.
local function write(id, version, json)
  local old = redis.call('HGET', ROOMS, id)
  local current = old and string.match(old, '^%d+')
  if current and older(version, current) then
    newer[#newer+1] = id
    return false
  end
  redis.call('HSET', ROOMS, id, version .. '|' .. json)
  return not current or current ~= version
end

-- release keeps what settlement released of a minute. It is a sum that only grows, so the larger one is
-- the later.
local function release(key, minute, amount)
  local field = 's:' .. minute
  if tonumber(redis.call('HGET', key, field) or '0') < tonumber(amount) then redis.call('HSET', key, field, amount) end
end

local accepted, i, k = {}, 6, 3
while i <= #ARGV do
  local json, limited, releases = ARGV[i+2], ARGV[i+3] == '1', tonumber(ARGV[i+4])
  local key, account = KEYS[k], KEYS[k+1]
  if write(ARGV[i], ARGV[i+1], json) then accepted[#accepted+1] = json end
  i, k = i + 5, k + 2
  for r = 1, releases do
    release(key, ARGV[i], ARGV[i+1])
    i = i + 2
  end
  if releases > 0 or redis.call('HEXISTS', key, 'out') == 1 then
    reserve(key, account, limited, recompute(key, beat), beat)
  end
end
if #accepted > 0 then redis.call('PUBLISH', channel, '{"rooms":[' .. table.concat(accepted, ',') .. ']}') end
return newer
