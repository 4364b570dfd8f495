--[[
Deletes a revocation that is done or given up.

returns {}
emits  nothing
]]
local charged = redis.call('HGET', keys.revocation, 'q')
local ledger = open_ledger(keys.ledger, now, now)
discharge(ledger, charged)
redis.call('DEL', keys.revocation)
redis.call('ZREM', keys.due_revocations, args.revocation_id)
if charged then close_ledger(ledger) end
return {}
