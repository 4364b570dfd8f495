--[[
Records that a self-contained one-time value was used. The list of used values has a maximum: beyond it, the script forgets the one that
expires first, and refuses every value that expires as early (`floor`), so that none is accepted twice.

returns {'taken'} or {'spent'}
emits  nothing
]]
local expires, grace = tonumber(args.expires_at), tonumber(args.grace_ms)

local floor = redis.call('ZSCORE', keys.used, 'floor')
if redis.call('ZSCORE', keys.used, args.name) or (floor and expires <= tonumber(floor)) then return { 'spent' } end

redis.call('ZREMRANGEBYSCORE', keys.used, '-inf', whole(now - grace))
redis.call('ZADD', keys.used, args.expires_at, args.name)
if redis.call('ZCARD', keys.used) > tonumber(args.max) then
  local first = redis.call('ZRANGE', keys.used, 0, 1, 'WITHSCORES')
  local at = first[1] == 'floor' and 3 or 1
  redis.call('ZREM', keys.used, first[at])
  redis.call('ZADD', keys.used, first[at + 1], 'floor')
end
redis.call('PEXPIRE', keys.used, whole(math.max(redis.call('PTTL', keys.used), expires - now + grace)))
return { 'taken' }
