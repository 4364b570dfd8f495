--[[
Gives a lease back after trouble at the provider; until the delay is over nobody begins again. Only the last holder is
heard, so repeating it changes nothing.

KEYS   1 connection
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 holder   6 delay in ms   7 wake-up channel
returns {'postponed'} or {'overtaken'}
emits  one wake-up when postponed
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'lease', 'trouble')
local holder = string.match(found[3] or '', '^%d+ (.*)$')
if found[2] ~= ARGV[3] or found[1] ~= ARGV[4] or holder ~= ARGV[5] then return { 'overtaken' } end

local troubles = tonumber(string.match(found[4] or '', ' (%d+)$') or '0') + 1
redis.call('HSET', KEYS[1], 'trouble', whole(now + tonumber(ARGV[6])) .. ' ' .. whole(troubles))
redis.call('HDEL', KEYS[1], 'lease')
redis.call('PUBLISH', ARGV[7], ARGV[2])
return { 'postponed' }
