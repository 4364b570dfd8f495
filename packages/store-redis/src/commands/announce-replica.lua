--[[
Announces a replica for a limited time, and forgets the replicas whose time is over. An order to drain stays until the replica is gone.

KEYS   1 replicas
ARGV   1 clock   2 replica id   3 record   4 lifetime in ms
returns {'announced', '1' if the replica must drain, otherwise '0'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local drains = '0'
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  local ends, flag = string.match(fields[at + 1], '^(%d+) ([01]) ')
  if not ends or tonumber(ends) <= now then
    redis.call('HDEL', KEYS[1], fields[at])
  elseif fields[at] == ARGV[2] then
    drains = flag
  end
end
redis.call('HSET', KEYS[1], ARGV[2], whole(now + tonumber(ARGV[4])) .. ' ' .. drains .. ' ' .. ARGV[3])
-- Another replica may have announced a longer time.
redis.call('PEXPIRE', KEYS[1], whole(math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[4]))))
return { 'announced', drains }
