--[[
Restarts the idle time of a browser session that has not expired, never beyond its absolute end.

returns 1 if it had not expired, else 0
emits  nothing
]]
local found = redis.call('HMGET', keys.browser_session, 'endsAt', 'idleUntil', 'idleMs')
if not found[1] or now >= tonumber(found[1]) or now >= tonumber(found[2]) then return 0 end
local left = math.min(tonumber(found[3]), tonumber(found[1]) - now)
redis.call('HSET', keys.browser_session, 'idleUntil', whole(now + left))
redis.call('PEXPIRE', keys.browser_session, whole(left))
return 1
