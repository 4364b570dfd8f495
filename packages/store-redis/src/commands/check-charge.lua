--[[
Has the processor of a payment asked after a delay, and not before. Repeating the call begins the delay anew.

KEYS   1 charges to be asked about
ARGV   1 clock   2 elicitation id   3 delay in ms
returns {'noted'}
emits  nothing
]]
redis.call('ZADD', KEYS[1], whole(store_clock(ARGV[1]) + tonumber(ARGV[3])), ARGV[2])
return { 'noted' }
