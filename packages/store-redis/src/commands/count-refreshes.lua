--[[
Adds refreshes at one provider to the counts of a day. Each writer sends one batch after another, so repeating the last one changes
nothing.

KEYS   1 counts of the day
ARGV   1 writer   2 operation id of the batch   3 retention in ms   then for each count: its field, its number
returns {'counted' | 'repeated'}
emits  nothing
]]
local writer = 'by ' .. ARGV[1]
if redis.call('HGET', KEYS[1], writer) == ARGV[2] then return { 'repeated' } end
for at = 4, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call('HSET', KEYS[1], writer, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 'counted' }
