--[[
Adds a passkey of a user, unless it exists, the user has the maximum number, or the passkey that authorized it is gone.
Repeating the call changes nothing. The first passkey after a reset counts only later, and so does every passkey that it
authorizes. The same holds for any first passkey, unless the caller decides otherwise.

KEYS   1 passkeys of the subject   2 facts about them   3 announcements   4 ledger of the MCP server that says who the user is
ARGV   1 clock   2 passkey id   3 record   4 signature counter   5 '1' when backed up, else '0'   6 name of this call
       7 maximum number of passkeys   8 id of the passkey that authorized it, or empty
       9 milliseconds until a first passkey counts, if it counts later
       10 for the first passkey of a user: 'counts', 'limited' (until then, within the limit for first passkeys) or 'later'
       11 its announcement, `<id> <pseudonym>`, or ''
       12 MCP server that pays for them, because it says who the user is, or ''   13 '<records> <bytes>' that the shard may keep for it, or '' if that is known
returns {'added'}, {'exists'}, {'not_permitted'}, {'full'} or {'over_quota', retry after ms}
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

local entry = ARGV[4] .. ' ' .. ARGV[5] .. ' ' .. whole(now) .. ' 0 ' .. ARGV[6] .. ' ' .. ARGV[3]
local ledger, charged
if ARGV[12] ~= '' then
  ledger = open_ledger(KEYS[4], now, LASTING_MS)
  if ARGV[13] ~= '' then ledger.share = ARGV[13] end
  local before = redis.call('HGET', KEYS[2], 'q')
  discharge(ledger, before)
  charged = charge(ledger, LASTING_MS, passkeys_bytes(KEYS[1]) + weight({ ARGV[2], entry }, 1, 2) + COST.passkey)
  if not (is_within(ledger, before and MOST_REPLACED or MOST_ADDED, ledger.lasting) and is_within(ledger, 8)) then
    return { 'over_quota', retry_after(ledger) }
  end
end

note_passkey_change(KEYS[1], KEYS[2], now, KEYS[3], 'passkey.added', ARGV[11])
local is_reset = redis.call('HDEL', KEYS[2], 'reset') == 1
if is_reset or (ARGV[10] ~= 'counts' and redis.call('HLEN', KEYS[1]) == 0) then
  local from, limited = unpack(redis.call('HMGET', KEYS[2], 'from', 'limited'), 1, 2)
  -- Removing a passkey that does not count yet and adding another one weakens nothing.
  local is_waiting = from and tonumber(from) > now and limited ~= '1'
  local is_limited = not is_reset and not is_waiting and ARGV[10] == 'limited'
  redis.call('HSET', KEYS[2], 'from', whole(now + tonumber(ARGV[9])), 'limited', is_limited and '1' or '0')
end

redis.call('HSET', KEYS[1], ARGV[2], entry)
if ledger then
  redis.call('HSET', KEYS[2], 'q', charged, 'payer', ARGV[12])
  close_ledger(ledger)
end
return { 'added' }
