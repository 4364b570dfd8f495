--[[
Ends the browser sessions of a user that exist now, listed or not: readers refuse every session that was created up to the stored
time. Repeating the call ends the sessions created since.

KEYS   1 browser sessions of the subject
ARGV   1 clock   2 field of the time: 'since' for all sessions, 'since <MCP server>' for those that its application vouched for
       3 ms that a session can last
returns {time}
emits  nothing
]]
local since = store_clock(ARGV[1])

-- Another node, whose clock was ahead, may have created a session.
local fields = redis.call('HGETALL', KEYS[1])
for at = 2, #fields, 2 do
  local created = string.match(fields[at], '^(%d+) %d+$')
  if created then since = math.max(since, tonumber(created)) end
end

redis.call('HSET', KEYS[1], ARGV[2], whole(since))
redis.call('PEXPIRE', KEYS[1], whole(math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[3]))))
return { whole(since) }
