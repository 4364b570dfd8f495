--[[
Puts another sealed value in the place of one within a record, if that one is still there. All else of the record, its
times and its lifetime stay as they are. Repeating it changes nothing and succeeds again.

KEYS   1 connection, revocation, credential, result or registration
ARGV   1 member with the sealed value expected and   2 member to store, both as JSON
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
