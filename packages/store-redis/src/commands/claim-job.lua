--[[
Gives an unfinished job to one replica for the duration of a lease.

returns {'claimed'}, {'held'} or {'over'}
emits  nothing
]]
local found = redis.call('HMGET', keys.job, 'about', 'endedAt', 'lease')
if not found[1] or found[2] then return { 'over' } end
local ends, holder = string.match(found[3] or '', '^(%d+) (.*)$')
if ends and holder ~= args.holder and tonumber(ends) > now then return { 'held' } end
redis.call('HSET', keys.job, 'lease', whole(now + tonumber(args.lease_ms)) .. ' ' .. args.holder)
return { 'claimed' }
