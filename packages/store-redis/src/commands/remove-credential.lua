--[[
Deletes a credential.

KEYS   1 credential   2 credentials of its subject   3 credentials of the shard   4 ledger of its owner
ARGV   1 clock   2 credential id
returns {generation, createdAt, updatedAt, record, lost, lastUse}, or {} if there was none
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'q')
if not found[1] then return {} end
local ledger = open_ledger(KEYS[4], now, now)
discharge(ledger, found[7])

redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
if found[7] then close_ledger(ledger) end
return { unpack(found, 1, 6) }
