--[[
Ends a job once, and forgets its person. The holder of the lease ends it, or an operator, who needs no lease.

KEYS   1 job   2 unfinished jobs   3 ended jobs
ARGV   1 clock   2 holder, or '' for an operator   3 id   4 status   5 progress, or '' to keep it   6 retention in ms
       7 name of the call
returns {'ended'}, {'lost'} or {'over'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'about', 'endedAt', 'lease', 'endedBy')
if not found[1] then return { 'over' } end
if found[2] then return { found[4] == ARGV[7] and 'ended' or 'over' } end
if ARGV[2] ~= '' and string.match(found[3] or '', '^%d+ (.*)$') ~= ARGV[2] then return { 'lost' } end

redis.call('HSET', KEYS[1], 'status', ARGV[4], 'endedAt', whole(now), 'updatedAt', whole(now), 'endedBy', ARGV[7])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'progress', ARGV[5]) end
redis.call('HDEL', KEYS[1], 'person', 'lease')
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', whole(now - tonumber(ARGV[6])))
redis.call('ZADD', KEYS[3], whole(now), ARGV[3])
redis.call('PEXPIRE', KEYS[3], ARGV[6])
return { 'ended' }
