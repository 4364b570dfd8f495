--[[
Lists elicitations of a shard with a charge or with refunds to check, each longest overdue first. They stay due.

KEYS   1 charges to check   2 refunds to check
ARGV   1 clock   2 limit of each
returns {{elicitation id, ...} of the charges, {elicitation id, ...} of the refunds}
emits  nothing
]]
local now = whole(store_clock(ARGV[1]))
return {
  redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', '0', ARGV[2]),
  redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', '0', ARGV[2]),
}
