--[[
Removes a passkey of a user.

returns {'removed'} or {'unknown'}
emits  an announcement if the operator wants it
]]
if redis.call('HEXISTS', keys.passkeys, args.passkey_id) == 0 then return { 'unknown' } end
note_passkey_change(keys.passkeys, keys.facts, now, keys.announcements, 'passkey.removed', args.announcement)
redis.call('HDEL', keys.passkeys, args.passkey_id)
recount_passkeys(keys.passkeys, keys.facts, keys.ledger, args.payer, now)
return { 'removed' }
