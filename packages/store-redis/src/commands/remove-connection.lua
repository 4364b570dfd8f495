--[[
Deletes a connection and adds its grant to the pending revocations in the same commit, so that a token set refreshed just
before is the one that is revoked. Its charge moves to the revocation, until that is done.

returns {generation, createdAt, updatedAt, record, lost, lastUse}, or {} if there was none
emits  one wake-up if removed
]]
local found = redis.call('HMGET', keys.connection, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'q')
if not found[1] then return {} end
if args.connected_until ~= '' and tonumber(found[2]) > tonumber(args.connected_until) then return {} end

local ledger = open_ledger(keys.ledger, now, now + tonumber(args.revocation_lifetime_ms))
discharge(ledger, found[7])
local charged = found[7] and args.revocation_id ~= '' and charge(ledger, now + tonumber(args.revocation_lifetime_ms), bytes_of(found[7]))

-- First: a full Redis refuses a script before its first write, unless that frees memory.
redis.call('DEL', keys.connection)
redis.call('SREM', keys.connections_of, args.connection_id)
redis.call('ZREM', keys.connected, args.connection_id)
if args.revocation_id ~= '' then
  redis.call('HSET', keys.revocation, 'record', found[4], 'createdAt', whole(now), 'attempts', '0')
  if charged then redis.call('HSET', keys.revocation, 'q', charged) end
  redis.call('PEXPIRE', keys.revocation, args.revocation_lifetime_ms)
  redis.call('ZADD', keys.due_revocations, whole(now), args.revocation_id)
end
if found[7] then close_ledger(ledger) end
redis.call('PUBLISH', args.wake_up_channel, args.connection_id)
return { unpack(found, 1, 6) }
