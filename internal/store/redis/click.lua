-- Counts a click of a network, an address in it and a reader there when it is inside every rate of each.
-- KEYS: the clicks of each, the network's first. ARGV: time in ms, auction, longest window in ms, the
-- number of people behind each key, then limit of one person, window in ms of each rate.
-- Answers 1 when it is inside. A click of an auction that counted is inside, whatever came since: a
-- repeat must not be worse than the first. A click that is outside does not count, so the next click in
-- time is inside.
local now, auction, longest = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

if redis.call('ZSCORE', KEYS[1], auction) then return 1 end
for k, clicks in ipairs(KEYS) do
  local people = tonumber(ARGV[3+k])
  redis.call('ZREMRANGEBYSCORE', clicks, '-inf', now - longest)
  for i = 4 + #KEYS, #ARGV, 2 do
    local limit, window = people * tonumber(ARGV[i]), tonumber(ARGV[i+1])
    if redis.call('ZCOUNT', clicks, '(' .. (now - window), '+inf') >= limit then return 0 end
  end
end
for _, clicks in ipairs(KEYS) do
  redis.call('ZADD', clicks, now, auction)
  redis.call('PEXPIRE', clicks, longest)
end
return 1
