--[[
Cancels the check of the refunds of an elicitation, unless one of them is pending. Repeating the call changes nothing.

returns {'dropped'} or {'pending'}
emits  nothing
]]
if awaits_refund(redis.call('HGETALL', keys.payments)) then return { 'pending' } end
redis.call('ZREM', keys.refund_checks, args.elicitation_id)
return { 'dropped' }
