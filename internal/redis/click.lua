-- Counts a click of a network when it is inside every rate.
-- KEYS: the network's clicks. ARGV: time in ms, auction, longest window in ms, then limit, window in ms
-- of each rate.
-- Answers 1 when it is inside. A click of an auction that counted is inside, whatever came since: a
-- repeat must not be worse than the first. A click that is outside does not count, so the network's next
-- click in time is inside.
local CLICKS = KEYS[1]
local now, auction, longest = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

if redis.call('ZSCORE', CLICKS, auction) then return 1 end
redis.call('ZREMRANGEBYSCORE', CLICKS, '-inf', now - longest)
for i = 4, #ARGV, 2 do
  local limit, window = tonumber(ARGV[i]), tonumber(ARGV[i+1])
  if redis.call('ZCOUNT', CLICKS, '(' .. (now - window), '+inf') >= limit then return 0 end
end
redis.call('ZADD', CLICKS, now, auction)
redis.call('PEXPIRE', CLICKS, longest)
return 1
