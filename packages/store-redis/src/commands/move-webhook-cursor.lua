--[[
Moves the position in the feed up to which an endpoint's deliveries are queued, unless another replica has moved it.

KEYS   1 webhook endpoint
ARGV   1 expected position, or empty before the first   2 new position
returns {'moved'} or {'overtaken'}
emits  nothing
]]
local at = redis.call('HGET', KEYS[1], 'cursor') or ''

-- A repeat after a lost reply finds its own position.
if at == ARGV[2] then return { 'moved' } end
if at ~= ARGV[1] then return { 'overtaken' } end
redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
return { 'moved' }
