-- Prepended to the scripts that compare positions in streams, "<milliseconds>-<count>".
local function parts(position)
  local time, count = string.match(position, '^(%d+)-(%d+)$')
  return tonumber(time), tonumber(count)
end

local function is_before(a, b)
  local a_time, a_count = parts(a)
  local b_time, b_count = parts(b)
  return a_time < b_time or (a_time == b_time and a_count < b_count)
end
