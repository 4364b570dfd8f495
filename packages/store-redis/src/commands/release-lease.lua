--[[
Releases a lease, if the caller holds it.

returns {}
emits  nothing
]]
if string.match(redis.call('GET', keys.lease) or '', '^%d+ (.*)$') == args.holder then redis.call('DEL', keys.lease) end
return {}
