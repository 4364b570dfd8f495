--[[
Stores a job of an operator, for whichever replica claims it. Repeating it changes nothing.

returns {'started', createdAt} or {'full'}
emits  nothing
]]
local found = redis.call('HMGET', keys.job, 'about', 'createdAt')
if found[1] == args.about then return { 'started', found[2] } end
if redis.call('ZCARD', keys.unfinished_jobs) >= tonumber(args.max) then return { 'full' } end

redis.call('HSET', keys.job, 'about', args.about, 'createdAt', whole(now), 'updatedAt', whole(now))
if args.person ~= '' then redis.call('HSET', keys.job, 'person', args.person) end
redis.call('ZADD', keys.unfinished_jobs, whole(now), args.job_id)
return { 'started', whole(now) }
