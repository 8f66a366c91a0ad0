-- Notes that a node lives and forgets those long gone.
-- KEYS: nodes, applied. ARGV: node, version that it has applied, how long a silent node is remembered, ms.
local NODES, APPLIED = KEYS[1], KEYS[2]
local node, version, memory = ARGV[1], ARGV[2], ARGV[3]

local now = clock()
redis.call('ZADD', NODES, num(now), node)
redis.call('HSET', APPLIED, node, version)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', NODES, '-inf', num(now - memory))) do
  redis.call('ZREM', NODES, gone)
  redis.call('HDEL', APPLIED, gone)
end
return 1
