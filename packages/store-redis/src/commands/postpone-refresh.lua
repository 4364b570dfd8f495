--[[
Releases a lease after a failure at the provider; no replica starts another refresh within the delay. Counts a refusal in the same
commit. Only the last holder may call it, so repeating it changes nothing.

KEYS   1 connection
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 holder   6 delay in ms   7 wake-up channel
       8 '1' if the provider refused, otherwise '0'
returns {'postponed' | 'overtaken', refusals of the token set or ''}
emits  one wake-up when postponed
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'lease', 'backOff', 'refusals')
local holder = string.match(found[3] or '', '^%d+ (.*)$')
if found[2] ~= ARGV[3] or found[1] ~= ARGV[4] then return { 'overtaken', '' } end
local refusals = refusals_of(found[5], found[1])
if holder ~= ARGV[5] then return { 'overtaken', refusals } end

local failures = tonumber(string.match(found[4] or '', ' (%d+)$') or '0') + 1
redis.call('HSET', KEYS[1], 'backOff', whole(now + tonumber(ARGV[6])) .. ' ' .. whole(failures))
if refusals ~= '' or ARGV[8] == '1' then
  local first, last, count = string.match(refusals, '^%d+ (%d+) (%d+) (%d+) ')
  if ARGV[8] == '1' then
    first, last, count = first or whole(now), whole(now), whole(tonumber(count or '0') + 1)
  end
  refusals = table.concat({ found[1], first, last, count, ARGV[8] }, ' ')
  redis.call('HSET', KEYS[1], 'refusals', refusals)
end
redis.call('HDEL', KEYS[1], 'lease')
redis.call('PUBLISH', ARGV[7], ARGV[2])
return { 'postponed', refusals }
