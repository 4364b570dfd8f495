--[[
Schedules the next request to the processor of a payment, about its charge or its refunds, after a delay. Repeating the call restarts the delay.

returns {'noted'}
emits  nothing
]]
redis.call('ZADD', keys.checks, whole(now + tonumber(args.delay_ms)), args.elicitation_id)
return { 'noted' }
