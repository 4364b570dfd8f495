--[[
Postpones the next check of a charging elicitation, never to a time before its expiry. Any other elicitation stays due.

KEYS   1 elicitation   2 due index   3 held requests
ARGV   1 clock   2 elicitation id   3 delay in ms
returns {'postponed'} or {'unchanged'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'origin', 'expiresAt')
if not found[1] then return { 'unchanged' } end
local ask = string.match(found[1], ' (%S+)$')
if redis.call('ZSCORE', KEYS[3], ask .. ' ' .. ARGV[2]) ~= 'inf' then return { 'unchanged' } end

redis.call('ZADD', KEYS[2], whole(math.max(now + tonumber(ARGV[3]), tonumber(found[2]))), ARGV[2])
return { 'postponed' }
