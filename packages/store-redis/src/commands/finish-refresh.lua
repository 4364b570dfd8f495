--[[
Stores the next token set, even if another replica holds the lease by now, and clears lease, failures and loss. Repeating it
under its operation id changes nothing and succeeds again.

returns {'stored' | 'superseded', <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'missing'}
emits  one wake-up if this call stored it
]]
local found = redis.call('HMGET', keys.connection, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse',
  'refreshedBy', 'q')
if found[2] ~= args.created_at then return { 'missing' } end
if found[7] == args.operation_id then return { 'stored', unpack(found, 1, 6) } end
if found[1] ~= args.generation or args.record == '' then return { 'superseded', unpack(found, 1, 6) } end

local generation = whole(tonumber(found[1]) + 1)
redis.call('HSET', keys.connection, 'generation', generation, 'updatedAt', whole(now), 'record', args.record,
  'refreshedBy', args.operation_id)
redis.call('HDEL', keys.connection, 'lease', 'backOff', 'lost', 'refusals', 'unfinished')
-- Tokens are stored however full the quota is. Only larger ones move the charge.
local bytes = weight({ args.record }) + COST.answer
if found[8] and bytes > bytes_of(found[8]) then
  local ledger = open_ledger(keys.ledger, now, LASTING_MS)
  discharge(ledger, found[8])
  redis.call('HSET', keys.connection, 'q', charge(ledger, LASTING_MS, bytes))
  close_ledger(ledger)
end
redis.call('PUBLISH', args.wake_up_channel, args.connection_id)
return { 'stored', generation, found[2], whole(now), args.record, false, found[6] }
