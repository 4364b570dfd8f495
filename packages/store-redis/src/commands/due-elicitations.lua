--[[
Lists expired elicitations of a shard, oldest first. Frees requests whose result was not redeemed within the retention. Drops
index entries older than any record they could point to (no replica swept for the whole retention), together with their open
requests. A charging elicitation keeps its record until its charge is settled.

returns {elicitation id, ...}
emits  nothing
]]
for _, hold in ipairs(redis.call('ZRANGE', keys.held, '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', args.limit)) do
  local ask, id = string.match(hold, '^(%S+) (%S+)$')
  if redis.call('HGET', keys.open, ask) == id then redis.call('HDEL', keys.open, ask) end
  redis.call('ZREM', keys.held, hold)
end

local stale = redis.call('ZRANGE', keys.due, '-inf', whole(now - tonumber(args.retention_ms)), 'BYSCORE')
if #stale > 0 then
  local is_charging = {}
  for _, hold in ipairs(redis.call('ZRANGE', keys.held, '+inf', '+inf', 'BYSCORE')) do
    is_charging[string.match(hold, ' (%S+)$')] = true
  end
  for _, id in ipairs(stale) do
    if not is_charging[id] then redis.call('ZREM', keys.due, id) end
  end
  local asks = redis.call('HGETALL', keys.open)
  for at = 1, #asks, 2 do
    local ask, id = asks[at], asks[at + 1]
    if not redis.call('ZSCORE', keys.due, id) and not redis.call('ZSCORE', keys.held, ask .. ' ' .. id) then
      redis.call('HDEL', keys.open, ask)
    end
  end
end
return redis.call('ZRANGE', keys.due, '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', args.limit)
