--[[
Redeems the result of a completed elicitation and frees its request. The first redemption id wins. The same id gets the
same result until the retention ends; any other id is refused.

returns {'redeemed', '1' if this call redeemed it, else '0', <elicitation>, record of the result}
        {'spent' | 'unredeemable', <elicitation>}
        {'missing'}
        {'unreadable', record of the result}
emits  nothing
]]
local found = redis.call('HMGET', keys.elicitation, unpack(ELICITATION))
if not found[1] then return { 'missing' } end
if found[5] and now >= tonumber(found[5]) + tonumber(args.retention_ms) then return { 'missing' } end
-- Present after a completion with a result; empty until the result is redeemed.
local redeemed = found[6]
if not redeemed then return { 'unredeemable', unpack(found, 1, #ELICITATION) } end
local result = redis.call('HGET', keys.result, 'record')
if result and not is_known(result) then return { 'unreadable', result } end

local is_first = '1'
if redeemed == '' then
  found[6] = whole(now) .. ' ' .. args.call .. ' ' .. args.redemption
  redis.call('HSET', keys.elicitation, 'redeemed', found[6])
  local ask = string.match(redis.call('HGET', keys.elicitation, 'origin'), ' (%S+)$')
  if redis.call('HGET', keys.open, ask) == args.elicitation_id then redis.call('HDEL', keys.open, ask) end
  redis.call('ZREM', keys.held, ask .. ' ' .. args.elicitation_id)
else
  local call, name = string.match(redeemed, '^%d+ (%S+) (.*)$')
  if name ~= args.redemption then return { 'spent', unpack(found, 1, #ELICITATION) } end
  if call ~= args.call then is_first = '0' end
end

local answer = { 'redeemed', is_first, unpack(found, 1, #ELICITATION) }
answer[#ELICITATION + 3] = result
return answer
