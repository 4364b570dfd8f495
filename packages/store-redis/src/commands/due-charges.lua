--[[
Lists elicitations of a shard with a charge to check, longest overdue first. They stay due.

KEYS   1 charges to check
ARGV   1 clock   2 limit
returns {elicitation id, ...}
emits  nothing
]]
return redis.call('ZRANGE', KEYS[1], '-inf', whole(store_clock(ARGV[1])), 'BYSCORE', 'LIMIT', '0', ARGV[2])
