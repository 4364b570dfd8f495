--[[
Orders a replica to drain. Refuses the last replica that is not ordered to drain, unless forced: in this script, so that two orders at
the same time leave one replica.

returns {'ordered'}, {'already'}, {'last'} or {'unknown'}
emits  nothing
]]
local others = 0
local own, ends, record
local fields = redis.call('HGETALL', keys.replicas)
for at = 1, #fields, 2 do
  local until_, flag, text = string.match(fields[at + 1], '^(%d+) ([01]) (.*)$')
  if until_ and tonumber(until_) > now then
    if fields[at] == args.replica_id then
      own, ends, record = flag, until_, text
    elseif flag == '0' then
      others = others + 1
    end
  end
end
if not own then return { 'unknown' } end
if own == '1' then return { 'already' } end
if others == 0 and args.even_last ~= '1' then return { 'last' } end
redis.call('HSET', keys.replicas, args.replica_id, ends .. ' 1 ' .. record)
return { 'ordered' }
