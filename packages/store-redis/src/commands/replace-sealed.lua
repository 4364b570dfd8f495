--[[
Replaces a sealed value within a record, if the record still has it. The rest of the record, its times and its lifetime do
not change. Repeating it changes nothing and succeeds again.

returns {'replaced'} or {'other'}
emits  nothing
]]
local record = redis.call('HGET', keys.sealed_record, 'record')
if not record then return { 'other' } end
if string.find(record, args.next_member, 1, true) then return { 'replaced' } end

local first, last = string.find(record, args.member, 1, true)
if not first then return { 'other' } end
redis.call('HSET', keys.sealed_record, 'record', string.sub(record, 1, first - 1) .. args.next_member .. string.sub(record, last + 1))
return { 'replaced' }
