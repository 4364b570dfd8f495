--[[
Postpones the next check of a charging elicitation, never to a time before its expiry. Any other elicitation stays due.

returns {'postponed'} or {'unchanged'}
emits  nothing
]]
local found = redis.call('HMGET', keys.elicitation, 'origin', 'expiresAt')
if not found[1] then return { 'unchanged' } end
local ask = string.match(found[1], ' (%S+)$')
if redis.call('ZSCORE', keys.held, ask .. ' ' .. args.elicitation_id) ~= 'inf' then return { 'unchanged' } end

redis.call('ZADD', keys.due, whole(math.max(now + tonumber(args.delay_ms), tonumber(found[2]))), args.elicitation_id)
return { 'postponed' }
