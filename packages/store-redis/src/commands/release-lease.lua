--[[
Releases a lease, if the caller holds it.

KEYS   1 lease
ARGV   1 holder
returns {}
emits  nothing
]]
if string.match(redis.call('GET', KEYS[1]) or '', '^%d+ (.*)$') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {}
