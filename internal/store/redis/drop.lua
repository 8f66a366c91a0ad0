-- Removes a room that is still as it was read. KEYS: rooms. ARGV: campaign, room.
-- Answers 1 when it was removed.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
