-- Confirms decisions that are known and makes none: a beacon says for itself which session it is of. The
-- last byte of a value says whether it is confirmed.
-- KEYS: session. ARGV: auctions. What exists has its expiry.
for _, auction in ipairs(ARGV) do
  local value = redis.call('HGET', KEYS[1], auction)
  if value then redis.call('HSET', KEYS[1], auction, string.sub(value, 1, -2) .. '\1') end
end
return 1
