--[[
Deletes a revocation that is done or given up.

KEYS   1 revocation   2 due revocations
ARGV   1 revocation id
returns {}
emits  nothing
]]
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return {}
