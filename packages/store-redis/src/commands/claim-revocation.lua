--[[
Gives a revocation to one caller until its lease expires; then it is due again. Drops an index entry without a record.

KEYS   1 revocation   2 due revocations
ARGV   1 clock   2 revocation id   3 lease in ms   4 'due' (only if it is due) or 'any'
returns {record, createdAt, attempts including this one}, or {} if it is gone, claimed or not due; {record} alone if it is
        unreadable: it becomes due again later, so it does not hold up others
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
