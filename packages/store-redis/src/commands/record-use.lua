--[[
Records the last use of a connection or credential. Writes a repeated use only after a while, and a different use
immediately.

KEYS   1 connection or credential
ARGV   1 clock   2 use   3 ms after which the same use is written again
returns {'noted'} or {'unchanged'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'createdAt', 'lastUse')
if not found[1] then return { 'unchanged' } end
local at, use = string.match(found[2] or '', '^(%d+) (.*)$')
if use == ARGV[2] and now - tonumber(at) < tonumber(ARGV[3]) then return { 'unchanged' } end

redis.call('HSET', KEYS[1], 'lastUse', whole(now) .. ' ' .. ARGV[2])
return { 'noted' }
