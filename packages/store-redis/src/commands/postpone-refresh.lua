--[[
Releases a lease after a failure at the provider; no replica starts another refresh within the delay. Counts a refusal in the same
commit. Only the last holder may call it, so repeating it changes nothing.

returns {'postponed' | 'overtaken', refusals of the token set or ''}
emits  one wake-up when postponed
]]
local found = redis.call('HMGET', keys.connection, 'generation', 'createdAt', 'lease', 'backOff', 'refusals')
local holder = string.match(found[3] or '', '^%d+ (.*)$')
if found[2] ~= args.created_at or found[1] ~= args.generation then return { 'overtaken', '' } end
local refusals = refusals_of(found[5], found[1])
if holder ~= args.holder then return { 'overtaken', refusals } end

local failures = tonumber(string.match(found[4] or '', ' (%d+)$') or '0') + 1
redis.call('HSET', keys.connection, 'backOff', whole(now + tonumber(args.delay_ms)) .. ' ' .. whole(failures))
if refusals ~= '' or args.is_refusal == '1' then
  local first, last, count = string.match(refusals, '^%d+ (%d+) (%d+) (%d+) ')
  if args.is_refusal == '1' then
    first, last, count = first or whole(now), whole(now), whole(tonumber(count or '0') + 1)
  end
  refusals = table.concat({ found[1], first, last, count, args.is_refusal }, ' ')
  redis.call('HSET', keys.connection, 'refusals', refusals)
end
redis.call('HDEL', keys.connection, 'lease')
redis.call('PUBLISH', args.wake_up_channel, args.connection_id)
return { 'postponed', refusals }
