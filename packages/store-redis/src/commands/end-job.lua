--[[
Ends a job once, and forgets its person. The holder of the lease ends it, or an operator, who needs no lease.

returns {'ended'}, {'lost'} or {'over'}
emits  nothing
]]
local found = redis.call('HMGET', keys.job, 'about', 'endedAt', 'lease', 'endedBy')
if not found[1] then return { 'over' } end
if found[2] then return { found[4] == args.call and 'ended' or 'over' } end
if args.holder ~= '' and string.match(found[3] or '', '^%d+ (.*)$') ~= args.holder then return { 'lost' } end

redis.call('HSET', keys.job, 'status', args.status, 'endedAt', whole(now), 'updatedAt', whole(now), 'endedBy', args.call)
if args.progress ~= '' then redis.call('HSET', keys.job, 'progress', args.progress) end
redis.call('HDEL', keys.job, 'person', 'lease')
redis.call('PEXPIRE', keys.job, args.retention_ms)
redis.call('ZREM', keys.unfinished_jobs, args.job_id)
redis.call('ZREMRANGEBYSCORE', keys.ended_jobs, '-inf', whole(now - tonumber(args.retention_ms)))
redis.call('ZADD', keys.ended_jobs, whole(now), args.job_id)
redis.call('PEXPIRE', keys.ended_jobs, args.retention_ms)
return { 'ended' }
