--[[
Lists due revocations of a shard, longest overdue first. The caller then claims each one separately, because a script must
know its keys beforehand.

returns {revocation id, ...}
emits  nothing
]]
return redis.call('ZRANGE', keys.due_revocations, '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', args.limit)
