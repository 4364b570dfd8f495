--[[
Records a use of a passkey, if its counter has grown or its authenticator has none (WebAuthn 7.2 step 22). Repeating the call
changes nothing and succeeds again.

returns {'used'}, {'stale'} or {'unknown'}
emits  nothing
]]
local stored = redis.call('HGET', keys.passkeys, args.passkey_id)
if not stored then return { 'unknown' } end
local count, created, by, record = string.match(stored, '^(%d+) [01] (%d+) %d+ (%S+) (.*)$')
if by == args.call then return { 'used' } end
local before, after = tonumber(count), tonumber(args.sign_count)
if (before > 0 or after > 0) and after <= before then return { 'stale' } end

redis.call('HSET', keys.passkeys, args.passkey_id,
  args.sign_count .. ' ' .. args.is_backed_up .. ' ' .. created .. ' ' .. whole(now) .. ' ' .. args.call .. ' ' .. record)
return { 'used' }
