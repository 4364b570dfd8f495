--[[
Reads a browser session without extending it.

KEYS   1 browser session
ARGV   1 clock
returns {record, createdAt, endsAt}, or {} if it is unknown or expired
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'record', 'createdAt', 'endsAt', 'idleUntil')
if not found[1] or now >= tonumber(found[3]) or now >= tonumber(found[4]) then return {} end
return { found[1], found[2], found[3] }
