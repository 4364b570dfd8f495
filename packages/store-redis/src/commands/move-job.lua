--[[
Stores how far a job is, and extends or releases the lease. Only its holder may.

returns {'moved'} or {'lost'}
emits  nothing
]]
local found = redis.call('HMGET', keys.job, 'endedAt', 'lease')
if found[1] or string.match(found[2] or '', '^%d+ (.*)$') ~= args.holder then return { 'lost' } end
redis.call('HSET', keys.job, 'progress', args.progress, 'updatedAt', whole(now))
if args.lease_ms == '0' then
  redis.call('HDEL', keys.job, 'lease')
else
  redis.call('HSET', keys.job, 'lease', whole(now + tonumber(args.lease_ms)) .. ' ' .. args.holder)
end
return { 'moved' }
