--[[
Replaces the record of a passkey, which contains its name, if nothing has changed that record. Keeps counter and times. Repeating
the call changes nothing and succeeds again.

returns {'renamed'}, {'changed'} or {'unknown'}
emits  nothing
]]
local stored = redis.call('HGET', keys.passkeys, args.passkey_id)
if not stored then return { 'unknown' } end
local facts, record = string.match(stored, '^(%d+ [01] %d+ %d+ %S+) (.*)$')
if record == args.record then return { 'renamed' } end
if record ~= args.known_record then return { 'changed' } end

redis.call('HSET', keys.passkeys, args.passkey_id, facts .. ' ' .. args.record)
return { 'renamed' }
