--[[
Takes a free lease, or extends the caller's own.

returns {'taken'} or {'held'}
emits  nothing
]]
local ends, holder = string.match(redis.call('GET', keys.lease) or '', '^(%d+) (.*)$')
if ends and holder ~= args.holder and tonumber(ends) > now then return { 'held' } end
redis.call('SET', keys.lease, whole(now + tonumber(args.lease_ms)) .. ' ' .. args.holder, 'PX', args.lease_ms)
return { 'taken' }
