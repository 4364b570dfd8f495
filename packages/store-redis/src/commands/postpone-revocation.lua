--[[
Releases a claimed revocation, due after the delay. Does nothing if it is gone.

returns {}
emits  nothing
]]
if redis.call('EXISTS', keys.revocation) == 1 then
  redis.call('HDEL', keys.revocation, 'leaseUntil')
  redis.call('ZADD', keys.due_revocations, whole(now + tonumber(args.delay_ms)), args.revocation_id)
end
return {}
