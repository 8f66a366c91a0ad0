-- Writes campaigns that are not older than what is there, tells subscribers about each that is newer, and raises the head.
-- KEYS: objects, versions, head, epoch.
-- ARGV: channel, expected epoch or "", epoch for a new catalog, head or "", then id, version, JSON of
-- each campaign.
-- Answers the catalog's epoch, or an empty string when it is not the expected one.
local OBJECTS, VERSIONS, HEAD, EPOCH = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, expected, fresh, head = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function write(id, version, json)
  local current = tonumber(redis.call('ZSCORE', VERSIONS, id) or '-1')
  if current > tonumber(version) then return end
  if current == tonumber(version) then -- nothing new, but perhaps under another seal
    redis.call('HSET', OBJECTS, id, json)
    return
  end
  redis.call('HSET', OBJECTS, id, json)
  redis.call('ZADD', VERSIONS, version, id)
  redis.call('PUBLISH', channel, '{"campaign":' .. json .. '}')
end

local epoch = redis.call('GET', EPOCH)
if expected ~= '' and epoch ~= expected then return '' end
if not epoch then
  epoch = fresh
  redis.call('SET', EPOCH, epoch)
end
for i = 5, #ARGV, 3 do write(ARGV[i], ARGV[i+1], ARGV[i+2]) end
if head ~= '' then
  local current = redis.call('GET', HEAD)
  if not current or tonumber(current) < tonumber(head) then redis.call('SET', HEAD, head) end
end
return epoch
