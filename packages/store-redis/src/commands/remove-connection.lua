--[[
Deletes a connection and adds its grant to the pending revocations in the same commit, so that a token set refreshed just
before is the one that is revoked. Its charge moves to the revocation, until that is done.

KEYS   1 connection   2 connections of its subject   3 revocation   4 due revocations    (3 and 4 unused unless revoked)
       5 connections of the shard   6 ledger of its owner
ARGV   1 clock   2 connection id   3 revocation id, or ''   4 lifetime of the revocation in ms   5 wake-up channel
       6 only if connected at this time or before, or ''
returns {generation, createdAt, updatedAt, record, lost, lastUse}, or {} if there was none
emits  one wake-up if removed
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'q')
if not found[1] then return {} end
if ARGV[6] ~= '' and tonumber(found[2]) > tonumber(ARGV[6]) then return {} end

local ledger = open_ledger(KEYS[6], now, now + tonumber(ARGV[4]))
discharge(ledger, found[7])
local charged = found[7] and ARGV[3] ~= '' and charge(ledger, now + tonumber(ARGV[4]), bytes_of(found[7]))

-- First: a full Redis refuses a script before its first write, unless that frees memory.
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[5], ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[3], 'record', found[4], 'createdAt', whole(now), 'attempts', '0')
  if charged then redis.call('HSET', KEYS[3], 'q', charged) end
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
  redis.call('ZADD', KEYS[4], whole(now), ARGV[3])
end
if found[7] then close_ledger(ledger) end
redis.call('PUBLISH', ARGV[5], ARGV[2])
return { unpack(found, 1, 6) }
