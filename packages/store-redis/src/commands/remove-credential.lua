--[[
Deletes a credential.

KEYS   1 credential   2 credentials of its subject   3 credentials of the shard
ARGV   1 credential id
returns {generation, createdAt, updatedAt, record, lost, lastUse}, or {} if there was none
emits  nothing
]]
local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if not found[1] then return {} end

redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return { unpack(found, 1, 6) }
