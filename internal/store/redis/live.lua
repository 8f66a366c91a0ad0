-- Answers node, applied version of every live node. KEYS: nodes, applied. ARGV: life of a node in ms.
local NODES, APPLIED = KEYS[1], KEYS[2]

local answer = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', NODES, '(' .. num(clock() - ARGV[1]), '+inf')) do
  answer[#answer+1] = node
  answer[#answer+1] = redis.call('HGET', APPLIED, node) or '0'
end
return answer
