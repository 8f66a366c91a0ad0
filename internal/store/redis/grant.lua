-- Lets an epoch grant: all that nodes have reserved is known. KEYS: state. ARGV: epoch.
-- Answers 1, or 0 when another epoch holds.
local STATE = KEYS[1]

if redis.call('HGET', STATE, 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', STATE, 'opens', num(clock()))
return 1
