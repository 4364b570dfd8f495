--[[
Marks one token set, and no newer one, as lost. If it is already marked, nothing changes.

KEYS   1 connection
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 reason   6 wake-up channel
returns {'stored' | 'superseded', <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'missing'}
emits  one wake-up if this call marked it
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if found[2] ~= ARGV[3] then return { 'missing' } end
if found[1] ~= ARGV[4] then return { 'superseded', unpack(found, 1, 6) } end
if found[5] then return { 'stored', unpack(found, 1, 6) } end

found[5] = whole(now) .. ' ' .. ARGV[5]
redis.call('HSET', KEYS[1], 'lost', found[5])
redis.call('HDEL', KEYS[1], 'lease', 'backOff', 'refusals', 'unfinished')
redis.call('PUBLISH', ARGV[6], ARGV[2])
return { 'stored', unpack(found, 1, 6) }
