--[[
Removes a passkey of a person.

KEYS   1 passkeys of the subject   2 facts about them
ARGV   1 clock   2 passkey id
returns {'removed'} or {'unknown'}
emits  nothing
]]
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return { 'unknown' } end
note_passkey_change(KEYS[1], KEYS[2], store_clock(ARGV[1]))
redis.call('HDEL', KEYS[1], ARGV[2])
return { 'removed' }
