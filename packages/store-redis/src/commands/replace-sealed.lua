--[[
Replaces a sealed value within a record, if the record still has it. The rest of the record, its times and its lifetime do
not change. Repeating it changes nothing and succeeds again.

KEYS   1 connection, revocation, credential, result, registration or API key
ARGV   1 member with the expected sealed value   2 member to store, both as JSON
returns {'replaced'} or {'other'}
emits  nothing
]]
local record = redis.call('HGET', KEYS[1], 'record')
if not record then return { 'other' } end
if string.find(record, ARGV[2], 1, true) then return { 'replaced' } end

local first, last = string.find(record, ARGV[1], 1, true)
if not first then return { 'other' } end
redis.call('HSET', KEYS[1], 'record', string.sub(record, 1, first - 1) .. ARGV[2] .. string.sub(record, last + 1))
return { 'replaced' }
