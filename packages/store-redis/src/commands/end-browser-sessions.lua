--[[
Ends the browser sessions of a user that exist now, listed or not: readers refuse every session that was created up to the stored
time. Repeating the call ends the sessions created since, unless it names a report, which has an effect once.

returns {time} or {'replayed'}
emits  nothing
]]
local since = now

if args.report ~= '' then
  local handled = redis.call('HGET', keys.ends, 'report ' .. args.report)
  if handled then return { string.match(handled, '^at %d+ (.*)$') == args.operation_id and whole(since) or 'replayed' } end
  local known = redis.call('HGETALL', keys.ends)
  for at = 1, #known, 2 do
    local time = string.match(known[at + 1], '^at (%d+) ')
    if time and tonumber(time) + tonumber(args.remember_ms) < since then redis.call('HDEL', keys.ends, known[at]) end
  end
  redis.call('HSET', keys.ends, 'report ' .. args.report, 'at ' .. whole(since) .. ' ' .. args.operation_id)
end

-- Another node, whose clock was ahead, may have created a session.
local fields = redis.call('HGETALL', keys.ends)
for at = 2, #fields, 2 do
  local created = string.match(fields[at], '^(%d+) %d+')
  if created then since = math.max(since, tonumber(created)) end
end

redis.call('HSET', keys.ends, args.field, whole(since))
redis.call('DEL', keys.own)
redis.call('PEXPIRE', keys.ends, whole(math.max(redis.call('PTTL', keys.ends), tonumber(args.absolute_ms))))
return { whole(since) }
