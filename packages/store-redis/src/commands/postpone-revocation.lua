--[[
Releases a claimed revocation, due after the delay. Does nothing if it is gone.

KEYS   1 revocation   2 due revocations
ARGV   1 clock   2 revocation id   3 delay in ms
returns {}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HDEL', KEYS[1], 'leaseUntil')
  redis.call('ZADD', KEYS[2], whole(now + tonumber(ARGV[3])), ARGV[2])
end
return {}
