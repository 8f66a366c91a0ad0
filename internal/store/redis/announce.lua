-- Writes a campaign when it is newer, tells subscribers, and moves the head when nothing is between it
-- and this version.
-- KEYS: objects, versions, head, nodes. ARGV: channel, id, version, JSON, life of a node in ms.
-- Answers the live nodes.
local OBJECTS, VERSIONS, HEAD, NODES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, id, version, json, life = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local current = redis.call('ZSCORE', VERSIONS, id)
if not current or tonumber(current) < tonumber(version) then
  redis.call('HSET', OBJECTS, id, json)
  redis.call('ZADD', VERSIONS, version, id)
end
local head = redis.call('GET', HEAD)
if head and tonumber(head) + 1 == tonumber(version) then redis.call('SET', HEAD, version) end
redis.call('PUBLISH', channel, '{"campaign":' .. json .. ',"confirm":true}')
return redis.call('ZRANGEBYSCORE', NODES, '(' .. num(clock() - life), '+inf')
