--[[
Announces a replica for a limited time, and forgets the replicas whose time is over. An order to drain stays until the replica is gone.

returns {'announced', '1' if the replica must drain, otherwise '0'}
emits  nothing
]]
local drains = '0'
local fields = redis.call('HGETALL', keys.replicas)
for at = 1, #fields, 2 do
  local ends, flag = string.match(fields[at + 1], '^(%d+) ([01]) ')
  if not ends or tonumber(ends) <= now then
    redis.call('HDEL', keys.replicas, fields[at])
  elseif fields[at] == args.replica_id then
    drains = flag
  end
end
redis.call('HSET', keys.replicas, args.replica_id, whole(now + tonumber(args.lifetime_ms)) .. ' ' .. drains .. ' ' .. args.record)
-- Another replica may have announced a longer time.
redis.call('PEXPIRE', keys.replicas, whole(math.max(redis.call('PTTL', keys.replicas), tonumber(args.lifetime_ms))))
return { 'announced', drains }
