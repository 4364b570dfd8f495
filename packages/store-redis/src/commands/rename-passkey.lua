--[[
Replaces the record of a passkey, which contains its name, if nothing has changed that record. Keeps counter and times. Repeating
the call changes nothing and succeeds again.

KEYS   1 passkeys of the subject
ARGV   1 passkey id   2 record that was read   3 new record
returns {'renamed'}, {'changed'} or {'unknown'}
emits  nothing
]]
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return { 'unknown' } end
local facts, record = string.match(stored, '^(%d+ [01] %d+ %d+ %S+) (.*)$')
if record == ARGV[3] then return { 'renamed' } end
if record ~= ARGV[2] then return { 'changed' } end

redis.call('HSET', KEYS[1], ARGV[1], facts .. ' ' .. ARGV[3])
return { 'renamed' }
