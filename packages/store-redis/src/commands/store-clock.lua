-- Prepended to every script: the clock that all records share. It is that of Redis, unless a test passes another one.
local function store_clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Milliseconds in a format that Redis accepts: no exponent, no fraction.
local function whole(number)
  return string.format('%.0f', number)
end
