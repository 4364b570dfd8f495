--[[
Stores a job of an operator, for whichever replica claims it. Repeating it changes nothing.

KEYS   1 job   2 unfinished jobs
ARGV   1 clock   2 id   3 description   4 its person as JSON, or ''   5 maximum number of unfinished jobs
returns {'started', createdAt} or {'full'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'about', 'createdAt')
if found[1] == ARGV[3] then return { 'started', found[2] } end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) then return { 'full' } end

redis.call('HSET', KEYS[1], 'about', ARGV[3], 'createdAt', whole(now), 'updatedAt', whole(now))
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'person', ARGV[4]) end
redis.call('ZADD', KEYS[2], whole(now), ARGV[2])
return { 'started', whole(now) }
