--[[
Lists the replicas whose time is not over.

returns {replica id, '1' if it was ordered to drain, remaining time of its announcement in ms, record, …}
emits  nothing
]]
local live = {}
local fields = redis.call('HGETALL', keys.replicas)
for at = 1, #fields, 2 do
  local ends, flag, record = string.match(fields[at + 1], '^(%d+) ([01]) (.*)$')
  if ends and tonumber(ends) > now then
    table.insert(live, fields[at])
    table.insert(live, flag)
    table.insert(live, whole(tonumber(ends) - now))
    table.insert(live, record)
  end
end
return live
