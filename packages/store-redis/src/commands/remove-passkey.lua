--[[
Removes a passkey of a user.

KEYS   1 passkeys of the subject   2 facts about them   3 announcements   4 ledger that counts them
ARGV   1 clock   2 passkey id   3 its announcement, `<id> <pseudonym>`, or ''   4 MCP server that pays for them, or ''
returns {'removed'} or {'unknown'}
emits  an announcement if the operator wants it
]]
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return { 'unknown' } end
local now = store_clock(ARGV[1])
note_passkey_change(KEYS[1], KEYS[2], now, KEYS[3], 'passkey.removed', ARGV[3])
redis.call('HDEL', KEYS[1], ARGV[2])
recount_passkeys(KEYS[1], KEYS[2], KEYS[4], ARGV[4], now)
return { 'removed' }
