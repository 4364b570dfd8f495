--[[
Moves the place in the feed up to which an endpoint's deliveries are queued, unless somebody else has moved it.

KEYS   1 webhook endpoint
ARGV   1 where it is; empty: nowhere yet   2 where it goes
returns {'moved'} or {'overtaken'}
emits  nothing
]]
local at = redis.call('HGET', KEYS[1], 'cursor') or ''

-- A repeat after a lost answer finds its own work.
if at == ARGV[2] then return { 'moved' } end
if at ~= ARGV[1] then return { 'overtaken' } end
redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
return { 'moved' }
