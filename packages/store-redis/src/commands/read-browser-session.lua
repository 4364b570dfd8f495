--[[
Reads a browser session without extending it.

returns {record, createdAt, endsAt}, or {} if it is unknown or expired
emits  nothing
]]
local found = redis.call('HMGET', keys.browser_session, 'record', 'createdAt', 'endsAt', 'idleUntil')
if not found[1] or now >= tonumber(found[3]) or now >= tonumber(found[4]) then return {} end
return { found[1], found[2], found[3] }
