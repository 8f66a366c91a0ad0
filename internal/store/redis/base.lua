-- Functions that other scripts begin with.

-- num is x in decimal: the plain conversion writes large numbers as powers of ten.
local function num(x) return string.format('%.0f', x) end

-- clock is the time of this Redis, ms since 1970.
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
