--[[
Removes all passkeys of a person, and notes that the next one is the first after a reset. Writes nothing where there are none.
Repeating the call changes nothing and answers the same.

KEYS   1 passkeys of the subject   2 facts about them
ARGV   1 clock   2 name of this call
returns {passkeys removed}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('HGET', KEYS[2], 'call') == ARGV[2] then return { tonumber(redis.call('HGET', KEYS[2], 'removed')) } end
local count = redis.call('HLEN', KEYS[1])
if count == 0 then return { 0 } end

note_passkey_change(KEYS[1], KEYS[2], now)
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[2], 'reset', whole(now), 'call', ARGV[2], 'removed', count)
return { count }
