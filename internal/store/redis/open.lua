-- Begins an epoch unless a later one has begun, and answers the one that holds.
-- KEYS: state. ARGV: epoch, the time before which nothing is granted, ms; grant.lua changes it.
local STATE, mine = KEYS[1], tonumber(ARGV[1])

local epoch = redis.call('HGET', STATE, 'epoch')
if epoch and tonumber(epoch) >= mine then return epoch end
redis.call('HSET', STATE, 'epoch', ARGV[1], 'opens', ARGV[2], 'beat', num(clock()))
return ARGV[1]
