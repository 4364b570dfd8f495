--[[
Schedules the next request to the processor of a payment, about its charge or its refunds, after a delay. Repeating the call restarts the delay.

KEYS   1 charges or refunds to check
ARGV   1 clock   2 elicitation id   3 delay in ms
returns {'noted'}
emits  nothing
]]
redis.call('ZADD', KEYS[1], whole(store_clock(ARGV[1]) + tonumber(ARGV[3])), ARGV[2])
return { 'noted' }
