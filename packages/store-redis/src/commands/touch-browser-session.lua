--[[
Restarts the idle time of a browser session that has not expired, never beyond its absolute end.

KEYS   1 browser session
ARGV   1 clock
returns 1 if it had not expired, else 0
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'endsAt', 'idleUntil', 'idleMs')
if not found[1] or now >= tonumber(found[1]) or now >= tonumber(found[2]) then return 0 end
local left = math.min(tonumber(found[3]), tonumber(found[1]) - now)
redis.call('HSET', KEYS[1], 'idleUntil', whole(now + left))
redis.call('PEXPIRE', KEYS[1], whole(left))
return 1
