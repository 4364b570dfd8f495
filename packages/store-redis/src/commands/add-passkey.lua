--[[
Adds a passkey of a user, unless it exists, the user has the maximum number, or the passkey that authorized it is gone.
Repeating the call changes nothing. The first passkey after a reset counts only later, and so does every passkey that it
authorizes. The same holds for any first passkey, unless the caller decides otherwise.

returns {'added'}, {'exists'}, {'not_permitted'}, {'full'} or {'over_quota', retry after ms}
emits  an announcement if the operator wants it
]]
local stored = redis.call('HGET', keys.passkeys, args.passkey_id)
if stored then
  local by = string.match(stored, '^%d+ [01] %d+ %d+ (%S+) ')
  return { by == args.call and 'added' or 'exists' }
end
if args.permitted_by ~= '' and redis.call('HEXISTS', keys.passkeys, args.permitted_by) == 0 then return { 'not_permitted' } end
if redis.call('HLEN', keys.passkeys) >= tonumber(args.max) then return { 'full' } end

local entry = args.sign_count .. ' ' .. args.is_backed_up .. ' ' .. whole(now) .. ' 0 ' .. args.call .. ' ' .. args.record
local ledger, charged
if args.payer ~= '' then
  ledger = open_ledger(keys.ledger, now, LASTING_MS)
  if args.share ~= '' then ledger.share = args.share end
  local before = redis.call('HGET', keys.facts, 'q')
  discharge(ledger, before)
  charged = charge(ledger, LASTING_MS, passkeys_bytes(keys.passkeys) + weight({ args.passkey_id, entry }) + COST.passkey)
  if not (is_within(ledger, before and MOST_REPLACED or MOST_ADDED, ledger.lasting) and is_within(ledger, 8)) then
    return { 'over_quota', retry_after(ledger) }
  end
end

note_passkey_change(keys.passkeys, keys.facts, now, keys.announcements, 'passkey.added', args.announcement)
local is_reset = redis.call('HDEL', keys.facts, 'reset') == 1
if is_reset or (args.first ~= 'counts' and redis.call('HLEN', keys.passkeys) == 0) then
  local from, limited = unpack(redis.call('HMGET', keys.facts, 'from', 'limited'), 1, 2)
  -- Removing a passkey that does not count yet and adding another one weakens nothing.
  local is_waiting = from and tonumber(from) > now and limited ~= '1'
  local is_limited = not is_reset and not is_waiting and args.first == 'limited'
  redis.call('HSET', keys.facts, 'from', whole(now + tonumber(args.first_delay_ms)), 'limited', is_limited and '1' or '0')
end

redis.call('HSET', keys.passkeys, args.passkey_id, entry)
if ledger then
  redis.call('HSET', keys.facts, 'q', charged, 'payer', args.payer)
  close_ledger(ledger)
end
return { 'added' }
