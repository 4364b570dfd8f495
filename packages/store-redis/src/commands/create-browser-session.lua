--[[
Creates a browser session.

KEYS   1 browser session
ARGV   1 clock   2 record   3 idle ms   4 absolute ms
returns {createdAt, endsAt}
emits  nothing
]]
local now = store_clock(ARGV[1])

local idle, absolute = tonumber(ARGV[3]), tonumber(ARGV[4])
local left = math.min(idle, absolute)
redis.call('HSET', KEYS[1], 'record', ARGV[2], 'createdAt', whole(now), 'endsAt', whole(now + absolute),
  'idleMs', ARGV[3], 'idleUntil', whole(now + left))
redis.call('PEXPIRE', KEYS[1], whole(left))
return { whole(now), whole(now + absolute) }
