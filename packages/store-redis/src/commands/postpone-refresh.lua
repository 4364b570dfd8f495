--[[
Releases a lease after a failure at the provider; no replica starts another refresh within the delay. Only the last
holder may call it, so repeating it changes nothing.

KEYS   1 connection
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 holder   6 delay in ms   7 wake-up channel
returns {'postponed'} or {'overtaken'}
emits  one wake-up when postponed
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'lease', 'backOff')
local holder = string.match(found[3] or '', '^%d+ (.*)$')
if found[2] ~= ARGV[3] or found[1] ~= ARGV[4] or holder ~= ARGV[5] then return { 'overtaken' } end

local failures = tonumber(string.match(found[4] or '', ' (%d+)$') or '0') + 1
redis.call('HSET', KEYS[1], 'backOff', whole(now + tonumber(ARGV[6])) .. ' ' .. whole(failures))
redis.call('HDEL', KEYS[1], 'lease')
redis.call('PUBLISH', ARGV[7], ARGV[2])
return { 'postponed' }
