--[[
Redeems the result of a completed elicitation and frees its request. The first redemption id wins. The same id gets the
same result until the retention ends; any other id is refused.

KEYS   1 elicitation   2 its result   3 open requests   4 held requests
ARGV   1 clock   2 elicitation id   3 redemption   4 name of this call   5 retention ms
returns {'redeemed', '1' if this call redeemed it, else '0', <elicitation>, record of the result}
        {'spent' | 'unredeemable', <elicitation>}
        {'missing'}
        {'unreadable', record of the result}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], unpack(ELICITATION))
if not found[1] then return { 'missing' } end
if found[5] and now >= tonumber(found[5]) + tonumber(ARGV[5]) then return { 'missing' } end
-- Present after a completion with a result; empty until the result is redeemed.
local redeemed = found[6]
if not redeemed then return { 'unredeemable', unpack(found, 1, #ELICITATION) } end
local result = redis.call('HGET', KEYS[2], 'record')
if result and not is_known(result) then return { 'unreadable', result } end

local is_first = '1'
if redeemed == '' then
  found[6] = whole(now) .. ' ' .. ARGV[4] .. ' ' .. ARGV[3]
  redis.call('HSET', KEYS[1], 'redeemed', found[6])
  local ask = string.match(redis.call('HGET', KEYS[1], 'origin'), ' (%S+)$')
  if redis.call('HGET', KEYS[3], ask) == ARGV[2] then redis.call('HDEL', KEYS[3], ask) end
  redis.call('ZREM', KEYS[4], ask .. ' ' .. ARGV[2])
else
  local call, name = string.match(redeemed, '^%d+ (%S+) (.*)$')
  if name ~= ARGV[3] then return { 'spent', unpack(found, 1, #ELICITATION) } end
  if call ~= ARGV[4] then is_first = '0' end
end

local answer = { 'redeemed', is_first, unpack(found, 1, #ELICITATION) }
answer[#ELICITATION + 3] = result
return answer
