--[[
Records the carried position of a shard's outbox, which never moves back. Drops carried entries except the newest.

KEYS   1 cursor   2 outbox
ARGV   1 position   2 number of carried entries kept
returns {}
emits  nothing
]]
local current = redis.call('GET', KEYS[1])
if current and not is_before(current, ARGV[1]) then return {} end
redis.call('SET', KEYS[1], ARGV[1])

-- Many at a time, because finding the oldest entry to keep means reading them.
local kept = tonumber(ARGV[2])
if redis.call('XLEN', KEYS[2]) < 2 * kept then return {} end
local carried = redis.call('XREVRANGE', KEYS[2], ARGV[1], '-', 'COUNT', ARGV[2])
if #carried == kept then redis.call('XTRIM', KEYS[2], 'MINID', '~', carried[kept][1]) end
return {}
