-- Keeps the mark of a refused conversation in the list of its hour, within the bounds of the hour.
-- KEYS: marks of the hour, counts of the hour. ARGV: API key, mark, most of an API key, marks from which on
-- the hour is crowded, most of an API key then, most of all, life in seconds.
-- Answers 1 when the mark was kept.
local MARKS, COUNTS = KEYS[1], KEYS[2]
local own, all = tonumber(redis.call('HGET', COUNTS, ARGV[1]) or '0'), redis.call('LLEN', MARKS)
if own >= tonumber(ARGV[3]) or all >= tonumber(ARGV[6]) then return 0 end
if all >= tonumber(ARGV[4]) and own >= tonumber(ARGV[5]) then return 0 end
redis.call('HINCRBY', COUNTS, ARGV[1], 1)
redis.call('RPUSH', MARKS, ARGV[2])
redis.call('EXPIRE', COUNTS, ARGV[7])
redis.call('EXPIRE', MARKS, ARGV[7])
return 1
