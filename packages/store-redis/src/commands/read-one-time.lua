--[[
Reads a one-time record without taking it.

KEYS   1 one-time record
ARGV   1 clock
returns {record, sealed part}, or {} if it is unknown, taken or expired
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'record', 'sealed', 'expiresAt')
if not found[2] or now >= tonumber(found[3]) then return {} end
return { found[1], found[2] }
