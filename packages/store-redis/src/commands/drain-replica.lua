--[[
Orders a replica to drain. Refuses the last replica that is not ordered to drain, unless forced: in this script, so that two orders at
the same time leave one replica.

KEYS   1 replicas
ARGV   1 clock   2 replica id   3 '1' also for the last one
returns {'ordered'}, {'already'}, {'last'} or {'unknown'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local others = 0
local own, ends, record
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  local until_, flag, text = string.match(fields[at + 1], '^(%d+) ([01]) (.*)$')
  if until_ and tonumber(until_) > now then
    if fields[at] == ARGV[2] then
      own, ends, record = flag, until_, text
    elseif flag == '0' then
      others = others + 1
    end
  end
end
if not own then return { 'unknown' } end
if own == '1' then return { 'already' } end
if others == 0 and ARGV[3] ~= '1' then return { 'last' } end
redis.call('HSET', KEYS[1], ARGV[2], ends .. ' 1 ' .. record)
return { 'ordered' }
