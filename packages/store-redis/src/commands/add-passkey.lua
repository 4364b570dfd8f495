--[[
Adds a passkey of a user, unless it exists, the user has the maximum number, or the passkey that authorized it is gone.
Repeating the call changes nothing. The first passkey after a reset counts only later, and so does every passkey that it
authorizes. The same holds for any first passkey, unless the caller decides otherwise.

KEYS   1 passkeys of the subject   2 facts about them   3 announcements
ARGV   1 clock   2 passkey id   3 record   4 signature counter   5 '1' when backed up, else '0'   6 name of this call
       7 maximum number of passkeys   8 id of the passkey that authorized it, or empty
       9 milliseconds until a first passkey counts, if it counts later
       10 for the first passkey of a user: 'counts', 'limited' (until then, within the limit for first passkeys) or 'later'
       11 its announcement, `<id> <pseudonym>`, or ''
returns {'added'}, {'exists'}, {'not_permitted'} or {'full'}
emits  an announcement if the operator wants it
]]
local now = store_clock(ARGV[1])

local stored = redis.call('HGET', KEYS[1], ARGV[2])
if stored then
  local by = string.match(stored, '^%d+ [01] %d+ %d+ (%S+) ')
  return { by == ARGV[6] and 'added' or 'exists' }
end
if ARGV[8] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[8]) == 0 then return { 'not_permitted' } end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[7]) then return { 'full' } end

note_passkey_change(KEYS[1], KEYS[2], now, KEYS[3], 'passkey.added', ARGV[11])
local is_reset = redis.call('HDEL', KEYS[2], 'reset') == 1
if is_reset or (ARGV[10] ~= 'counts' and redis.call('HLEN', KEYS[1]) == 0) then
  local from, limited = unpack(redis.call('HMGET', KEYS[2], 'from', 'limited'), 1, 2)
  -- Removing a passkey that does not count yet and adding another one weakens nothing.
  local is_waiting = from and tonumber(from) > now and limited ~= '1'
  local is_limited = not is_reset and not is_waiting and ARGV[10] == 'limited'
  redis.call('HSET', KEYS[2], 'from', whole(now + tonumber(ARGV[9])), 'limited', is_limited and '1' or '0')
end

redis.call('HSET', KEYS[1], ARGV[2],
  ARGV[4] .. ' ' .. ARGV[5] .. ' ' .. whole(now) .. ' 0 ' .. ARGV[6] .. ' ' .. ARGV[3])
return { 'added' }
