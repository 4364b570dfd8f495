--[[
Takes a free lease, or extends the caller's own.

KEYS   1 lease
ARGV   1 clock   2 holder   3 lease in ms
returns {'taken'} or {'held'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local ends, holder = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (.*)$')
if ends and holder ~= ARGV[2] and tonumber(ends) > now then return { 'held' } end
redis.call('SET', KEYS[1], whole(now + tonumber(ARGV[3])) .. ' ' .. ARGV[2], 'PX', ARGV[3])
return { 'taken' }
