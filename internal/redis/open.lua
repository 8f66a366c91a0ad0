-- Begins an epoch unless a later one has begun, and answers the one that holds.
-- KEYS: state. ARGV: epoch, ms that nodes have to say what they hold.
local STATE, mine = KEYS[1], tonumber(ARGV[1])

local epoch = redis.call('HGET', STATE, 'epoch')
if epoch and tonumber(epoch) >= mine then return epoch end
local now = clock()
redis.call('HSET', STATE, 'epoch', ARGV[1], 'opens', num(now + ARGV[2]), 'beat', num(now))
return ARGV[1]
