--[[
Deletes a credential.

returns {generation, createdAt, updatedAt, record, lost, lastUse}, or {} if there was none
emits  nothing
]]
local found = redis.call('HMGET', keys.credential, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'q')
if not found[1] then return {} end
local ledger = open_ledger(keys.ledger, now, now)
discharge(ledger, found[7])

redis.call('DEL', keys.credential)
redis.call('SREM', keys.credentials_of, args.credential_id)
redis.call('ZREM', keys.saved, args.credential_id)
if found[7] then close_ledger(ledger) end
return { unpack(found, 1, 6) }
