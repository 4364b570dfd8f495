--[[
Takes a one-time record. The first caller gets the sealed part, which the script deletes. The rest tells later callers that
the record was taken, for its remaining lifetime or ten minutes, whichever is longer.

returns {'taken', record, sealed part}, {'spent', record}, {'unknown'} or {'unreadable', record}
emits  nothing
]]
local found = redis.call('HMGET', keys.one_time, 'record', 'sealed', 'expiresAt')
if not found[1] or now >= tonumber(found[3]) then return { 'unknown' } end
if not is_known(found[1]) then return { 'unreadable', found[1] } end
if not found[2] then return { 'spent', found[1] } end

local left = math.max(tonumber(found[3]) - now, tonumber(args.spent_ms))
redis.call('HSET', keys.one_time, 'expiresAt', whole(now + left))
redis.call('HDEL', keys.one_time, 'sealed')
redis.call('PEXPIRE', keys.one_time, whole(left))
return { 'taken', found[1], found[2] }
