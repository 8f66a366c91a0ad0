-- Counts flags that name no subject, of one publisher.
-- KEYS: the publisher's flags (hash: name → "count last", last in ms), all publishers (sorted set by the
-- time of the last one). ARGV: publisher, now in ms, how long they are kept in ms, how many names at
-- most, the name of all further ones, then name, count of each.
-- A name that did not come within the time makes room. Answers how many names there are.
local FLAGS, ALL = KEYS[1], KEYS[2]
local publisher, now, life, most, other = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local function read(name)
  local value = redis.call('HGET', FLAGS, name)
  if not value then return nil end
  local count, last = string.match(value, '^(%d+) (%d+)$')
  return tonumber(count) or 0, tonumber(last) or 0
end

for _, name in ipairs(redis.call('HKEYS', FLAGS)) do
  local _, last = read(name)
  if last <= now - life then redis.call('HDEL', FLAGS, name) end
end
for i = 6, #ARGV, 2 do
  local name, more = ARGV[i], tonumber(ARGV[i+1])
  if not read(name) and redis.call('HLEN', FLAGS) >= most then name = other end
  local count, last = read(name)
  redis.call('HSET', FLAGS, name, string.format('%.0f %.0f', (count or 0) + more, math.max(last or 0, now)))
end
redis.call('PEXPIRE', FLAGS, life)
redis.call('ZREMRANGEBYSCORE', ALL, '-inf', now - life)
redis.call('ZADD', ALL, now, publisher)
redis.call('PEXPIRE', ALL, life)
return redis.call('HLEN', FLAGS)
