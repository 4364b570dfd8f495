--[[
Gives a reserved idempotency key back. A key that has its answer, or another fingerprint, stays.

KEYS   1 idempotency record
ARGV   1 fingerprint
returns 1 when it was given back, else 0
emits  nothing
]]
local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'response')
if found[1] ~= ARGV[1] or found[2] then return 0 end
return redis.call('DEL', KEYS[1])
