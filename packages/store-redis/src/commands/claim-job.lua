--[[
Gives an unfinished job to one replica for the duration of a lease.

KEYS   1 job
ARGV   1 clock   2 holder   3 lease in ms
returns {'claimed'}, {'held'} or {'over'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'about', 'endedAt', 'lease')
if not found[1] or found[2] then return { 'over' } end
local ends, holder = string.match(found[3] or '', '^(%d+) (.*)$')
if ends and holder ~= ARGV[2] and tonumber(ends) > now then return { 'held' } end
redis.call('HSET', KEYS[1], 'lease', whole(now + tonumber(ARGV[3])) .. ' ' .. ARGV[2])
return { 'claimed' }
