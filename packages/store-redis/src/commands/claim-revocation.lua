--[[
Gives a revocation to one caller until its lease expires; then it is due again. Drops an index entry without a record.

returns {record, createdAt, attempts including this one}, or {} if it is gone, claimed or not due; {record} alone if it is
        unreadable: it becomes due again later, so it does not hold up others
emits  nothing
]]
local found = redis.call('HMGET', keys.revocation, 'record', 'createdAt', 'leaseUntil')
if not found[1] then
  redis.call('ZREM', keys.due_revocations, args.revocation_id)
  return {}
end
if found[3] and tonumber(found[3]) > now then return {} end
if args.which == 'due' then
  local due = redis.call('ZSCORE', keys.due_revocations, args.revocation_id)
  if not due or tonumber(due) > now then return {} end
end

local lease_ends = whole(now + tonumber(args.lease_ms))
if not is_known(found[1]) then
  redis.call('ZADD', keys.due_revocations, lease_ends, args.revocation_id)
  return { found[1] }
end
local attempts = redis.call('HINCRBY', keys.revocation, 'attempts', '1')
redis.call('HSET', keys.revocation, 'leaseUntil', lease_ends)
redis.call('ZADD', keys.due_revocations, lease_ends, args.revocation_id)
return { found[1], found[2], whole(attempts) }
