--[[
Removes a passkey of a user.

KEYS   1 passkeys of the subject   2 facts about them   3 announcements
ARGV   1 clock   2 passkey id   3 its announcement, `<id> <pseudonym>`, or ''
returns {'removed'} or {'unknown'}
emits  an announcement if the operator wants it
]]
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return { 'unknown' } end
note_passkey_change(KEYS[1], KEYS[2], store_clock(ARGV[1]), KEYS[3], 'passkey.removed', ARGV[3])
redis.call('HDEL', KEYS[1], ARGV[2])
return { 'removed' }
