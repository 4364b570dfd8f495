--[[
Notes how far the outbox of a shard has been carried; never back.

KEYS   1 cursor
ARGV   1 position
returns {}
emits  nothing
]]
local current = redis.call('GET', KEYS[1])
if not current or is_before(current, ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return {}
