-- Put before every script: the one clock all records are measured on. It is that of Redis unless a test gives its own.
local function store_clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Milliseconds as Redis wants them: never in scientific notation, never a fraction.
local function whole(number)
  return string.format('%.0f', number)
end
