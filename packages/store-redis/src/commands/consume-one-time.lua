--[[
Takes a one-time record. The first caller gets the sealed part, which the script deletes. The rest tells later callers that
the record was taken, for its remaining lifetime or ten minutes, whichever is longer.

KEYS   1 one-time record
ARGV   1 clock   2 minimum lifetime of the rest in ms
returns {'taken', record, sealed part}, {'spent', record}, {'unknown'} or {'unreadable', record}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'record', 'sealed', 'expiresAt')
if not found[1] or now >= tonumber(found[3]) then return { 'unknown' } end
if not is_known(found[1]) then return { 'unreadable', found[1] } end
if not found[2] then return { 'spent', found[1] } end

local left = math.max(tonumber(found[3]) - now, tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'expiresAt', whole(now + left))
redis.call('HDEL', KEYS[1], 'sealed')
redis.call('PEXPIRE', KEYS[1], whole(left))
return { 'taken', found[1], found[2] }
