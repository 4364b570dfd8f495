--[[
Records the carried position of a shard's outbox, which never moves back. Drops carried entries except the newest.

returns {}
emits  nothing
]]
local current = redis.call('GET', keys.cursor)
if current and not is_before(current, args.position) then return {} end
redis.call('SET', keys.cursor, args.position)

-- Many at a time, because finding the oldest entry to keep means reading them.
local kept = tonumber(args.carried_kept)
if redis.call('XLEN', keys.events) < 2 * kept then return {} end
local carried = redis.call('XREVRANGE', keys.events, args.position, '-', 'COUNT', args.carried_kept)
if #carried == kept then redis.call('XTRIM', keys.events, 'MINID', '~', carried[kept][1]) end
return {}
