--[[
Reads a one-time record without taking it.

returns {record, sealed part}, or {} if it is unknown, taken or expired
emits  nothing
]]
local found = redis.call('HMGET', keys.one_time, 'record', 'sealed', 'expiresAt')
if not found[2] or now >= tonumber(found[3]) then return {} end
return { found[1], found[2] }
