--[[
Records the last use of a connection or credential. Writes a repeated use only after a while, and a different use
immediately.

returns {'noted'} or {'unchanged'}
emits  nothing
]]
local found = redis.call('HMGET', keys.used, 'createdAt', 'lastUse')
if not found[1] then return { 'unchanged' } end
local at, use = string.match(found[2] or '', '^(%d+) (.*)$')
if use == args.use and now - tonumber(at) < tonumber(args.again_after_ms) then return { 'unchanged' } end

redis.call('HSET', keys.used, 'lastUse', whole(now) .. ' ' .. args.use)
return { 'noted' }
