-- Notes that a projector is at work.
-- KEYS: state, seen. ARGV: epoch, projector, number of the call, number of the last call that was
-- answered, life of an untouched key in ms.
-- Answers the epoch of the store; 0 when it is empty, older than what the projector has seen, or not
-- rebuilt. What is older is removed.
local STATE, SEEN = KEYS[1], KEYS[2]
local mine, projector, seq, acked, ttl = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]

local epoch = tonumber(redis.call('HGET', STATE, 'epoch') or '0')
if epoch == 0 or epoch > mine then return num(epoch) end
local seen = tonumber(redis.call('HGET', SEEN, projector) or '0')
if epoch < mine or seen < acked then
  redis.call('DEL', STATE)
  return '0'
end
redis.call('HSET', SEEN, projector, seq)
redis.call('PEXPIRE', SEEN, ttl)
redis.call('HSET', STATE, 'beat', num(clock()))
return ARGV[1]
