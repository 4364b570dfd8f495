--[[
Marks one token set, and no newer one, as lost. What is lost already stays as it is.

KEYS   1 connection
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 reason   6 wake-up channel
returns {'stored' | 'superseded', <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'missing'}
emits  one wake-up when it is lost from now on
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if found[2] ~= ARGV[3] then return { 'missing' } end
if found[1] ~= ARGV[4] then return { 'superseded', unpack(found, 1, 6) } end
if found[5] then return { 'stored', unpack(found, 1, 6) } end

found[5] = whole(now) .. ' ' .. ARGV[5]
redis.call('HSET', KEYS[1], 'lost', found[5])
redis.call('HDEL', KEYS[1], 'lease', 'trouble')
redis.call('PUBLISH', ARGV[6], ARGV[2])
return { 'stored', unpack(found, 1, 6) }
