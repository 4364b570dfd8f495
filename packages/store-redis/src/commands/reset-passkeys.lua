--[[
Removes all passkeys of a user, and records that the next one is the first after a reset. Writes nothing if there are none.
Repeating the call changes nothing and gives the same result.

returns {passkeys removed}
emits  an announcement if the operator wants it
]]
if redis.call('HGET', keys.facts, 'call') == args.call then return { tonumber(redis.call('HGET', keys.facts, 'removed')) } end
local count = redis.call('HLEN', keys.passkeys)
if count == 0 then return { 0 } end

note_passkey_change(keys.passkeys, keys.facts, now, keys.announcements, 'passkey.reset', args.announcement)
redis.call('DEL', keys.passkeys)
redis.call('HSET', keys.facts, 'reset', whole(now), 'call', args.call, 'removed', count)
recount_passkeys(keys.passkeys, keys.facts, keys.ledger, args.payer, now)
return { count }
