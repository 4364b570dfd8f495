--[[
Stores how far a job is, and extends or releases the lease. Only its holder may.

KEYS   1 job
ARGV   1 clock   2 holder   3 lease in ms, 0 to release it   4 progress
returns {'moved'} or {'lost'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'endedAt', 'lease')
if found[1] or string.match(found[2] or '', '^%d+ (.*)$') ~= ARGV[2] then return { 'lost' } end
redis.call('HSET', KEYS[1], 'progress', ARGV[4], 'updatedAt', whole(now))
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[1], 'lease')
else
  redis.call('HSET', KEYS[1], 'lease', whole(now + tonumber(ARGV[3])) .. ' ' .. ARGV[2])
end
return { 'moved' }
