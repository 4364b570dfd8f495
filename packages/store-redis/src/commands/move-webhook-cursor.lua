--[[
Moves the position in the feed up to which an endpoint's deliveries are queued, unless another replica has moved it.

returns {'moved'} or {'overtaken'}
emits  nothing
]]
local at = redis.call('HGET', keys.endpoint, 'cursor') or ''

-- A repeat after a lost reply finds its own position.
if at == args.position then return { 'moved' } end
if at ~= args.known_position then return { 'overtaken' } end
redis.call('HSET', keys.endpoint, 'cursor', args.position)
return { 'moved' }
