--[[
Removes all passkeys of a user, and records that the next one is the first after a reset. Writes nothing if there are none.
Repeating the call changes nothing and gives the same result.

KEYS   1 passkeys of the subject   2 facts about them   3 announcements   4 ledger that counts them
ARGV   1 clock   2 name of this call   3 its announcement, `<id> <pseudonym>`, or ''   4 MCP server that pays for them, or ''
returns {passkeys removed}
emits  an announcement if the operator wants it
]]
local now = store_clock(ARGV[1])

if redis.call('HGET', KEYS[2], 'call') == ARGV[2] then return { tonumber(redis.call('HGET', KEYS[2], 'removed')) } end
local count = redis.call('HLEN', KEYS[1])
if count == 0 then return { 0 } end

note_passkey_change(KEYS[1], KEYS[2], now, KEYS[3], 'passkey.reset', ARGV[3])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'reset', whole(now), 'call', ARGV[2], 'removed', count)
recount_passkeys(KEYS[1], KEYS[2], KEYS[4], ARGV[4], now)
return { count }
