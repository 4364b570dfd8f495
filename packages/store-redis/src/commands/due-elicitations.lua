--[[
Lists elicitations of a shard whose time is over, oldest first. Index entries older than any record they could point to
(nobody swept for the whole retention) are dropped on the way, and with them the open asks they leave behind.

KEYS   1 due index   2 open asks
ARGV   1 clock   2 limit   3 retention ms
returns {elicitation id, ...}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now - tonumber(ARGV[3]))) > 0 then
  local asks = redis.call('HGETALL', KEYS[2])
  for at = 1, #asks, 2 do
    if not redis.call('ZSCORE', KEYS[1], asks[at + 1]) then redis.call('HDEL', KEYS[2], asks[at]) end
  end
end
return redis.call('ZRANGE', KEYS[1], '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', ARGV[2])
