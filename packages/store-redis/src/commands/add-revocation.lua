--[[
Stores a pending revocation, due immediately, however full the quota is. Repeating it under its id changes nothing.

returns {'added'} or {'known'}
emits  nothing
]]
if redis.call('EXISTS', keys.revocation) == 1 then return { 'known' } end
local ledger = open_ledger(keys.ledger, now, now + tonumber(args.lifetime_ms))
local charged = charge(ledger, now + tonumber(args.lifetime_ms), weight({ args.record }) + COST.answer)
redis.call('HSET', keys.revocation, 'record', args.record, 'createdAt', whole(now), 'attempts', '0', 'q', charged)
close_ledger(ledger)
redis.call('PEXPIRE', keys.revocation, args.lifetime_ms)
redis.call('ZADD', keys.due_revocations, whole(now), args.revocation_id)
return { 'added' }
