--[[
Gives a revocation to one caller until its lease ends; then it is due again. An index entry whose record is gone is dropped.

KEYS   1 revocation   2 due revocations
ARGV   1 clock   2 revocation id   3 lease in ms   4 'due' (only if it is) or 'any'
returns {record, createdAt, attempts, this one included}, or {} when it is gone, claimed or not due; {record} alone where it cannot
        be read: it only comes up again later, so that it keeps no other waiting
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'record', 'createdAt', 'leaseUntil')
if not found[1] then
  redis.call('ZREM', KEYS[2], ARGV[2])
  return {}
end
if found[3] and tonumber(found[3]) > now then return {} end
if ARGV[4] == 'due' then
  local due = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if not due or tonumber(due) > now then return {} end
end

local lease_ends = whole(now + tonumber(ARGV[3]))
if not is_known(found[1]) then
  redis.call('ZADD', KEYS[2], lease_ends, ARGV[2])
  return { found[1] }
end
local attempts = redis.call('HINCRBY', KEYS[1], 'attempts', '1')
redis.call('HSET', KEYS[1], 'leaseUntil', lease_ends)
redis.call('ZADD', KEYS[2], lease_ends, ARGV[2])
return { found[1], found[2], whole(attempts) }
