--[[
Lists expired elicitations of a shard, oldest first. Frees requests whose result was not redeemed within the retention. Drops
index entries older than any record they could point to (no replica swept for the whole retention), together with their open
requests. A charging elicitation keeps its record until its charge is settled.

KEYS   1 due index   2 open requests   3 held requests
ARGV   1 clock   2 limit   3 retention ms
returns {elicitation id, ...}
emits  nothing
]]
local now = store_clock(ARGV[1])

for _, hold in ipairs(redis.call('ZRANGE', KEYS[3], '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', ARGV[2])) do
  local ask, id = string.match(hold, '^(%S+) (%S+)$')
  if redis.call('HGET', KEYS[2], ask) == id then redis.call('HDEL', KEYS[2], ask) end
  redis.call('ZREM', KEYS[3], hold)
end

local stale = redis.call('ZRANGE', KEYS[1], '-inf', whole(now - tonumber(ARGV[3])), 'BYSCORE')
if #stale > 0 then
  local is_charging = {}
  for _, hold in ipairs(redis.call('ZRANGE', KEYS[3], '+inf', '+inf', 'BYSCORE')) do
    is_charging[string.match(hold, ' (%S+)$')] = true
  end
  for _, id in ipairs(stale) do
    if not is_charging[id] then redis.call('ZREM', KEYS[1], id) end
  end
  local asks = redis.call('HGETALL', KEYS[2])
  for at = 1, #asks, 2 do
    local ask, id = asks[at], asks[at + 1]
    if not redis.call('ZSCORE', KEYS[1], id) and not redis.call('ZSCORE', KEYS[3], ask .. ' ' .. id) then
      redis.call('HDEL', KEYS[2], ask)
    end
  end
end
return redis.call('ZRANGE', KEYS[1], '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', ARGV[2])
