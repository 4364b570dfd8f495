--[[
Cancels the check of the refunds of an elicitation, unless one of them is pending. Repeating the call changes nothing.

KEYS   1 payments of the elicitation   2 refunds to check
ARGV   1 elicitation id
returns {'dropped'} or {'pending'}
emits  nothing
]]
if awaits_refund(redis.call('HGETALL', KEYS[1])) then return { 'pending' } end
redis.call('ZREM', KEYS[2], ARGV[1])
return { 'dropped' }
