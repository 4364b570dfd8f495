--[[
Ends the browser sessions of a user that exist now, listed or not: readers refuse every session that was created up to the stored
time. Repeating the call ends the sessions created since, unless it names a report, which has an effect once.

KEYS   1 browser sessions of the subject, or the end of a session at an identity provider
       2 record of the session that asks for it, which ends with them
ARGV   1 clock   2 field of the time: 'since' for all sessions, 'since <MCP server>' for those that its application vouched for,
       'since @<identity provider>' for those that it signed in
       3 ms that a session can last   4 digest of the report, or ''   5 operation   6 ms to remember the report
returns {time} or {'replayed'}
emits  nothing
]]
local since = store_clock(ARGV[1])

if ARGV[4] ~= '' then
  local handled = redis.call('HGET', KEYS[1], 'report ' .. ARGV[4])
  if handled then return { string.match(handled, '^at %d+ (.*)$') == ARGV[5] and whole(since) or 'replayed' } end
  local known = redis.call('HGETALL', KEYS[1])
  for at = 1, #known, 2 do
    local time = string.match(known[at + 1], '^at (%d+) ')
    if time and tonumber(time) + tonumber(ARGV[6]) < since then redis.call('HDEL', KEYS[1], known[at]) end
  end
  redis.call('HSET', KEYS[1], 'report ' .. ARGV[4], 'at ' .. whole(since) .. ' ' .. ARGV[5])
end

-- Another node, whose clock was ahead, may have created a session.
local fields = redis.call('HGETALL', KEYS[1])
for at = 2, #fields, 2 do
  local created = string.match(fields[at], '^(%d+) %d+')
  if created then since = math.max(since, tonumber(created)) end
end

redis.call('HSET', KEYS[1], ARGV[2], whole(since))
redis.call('DEL', KEYS[2])
redis.call('PEXPIRE', KEYS[1], whole(math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[3]))))
return { whole(since) }
