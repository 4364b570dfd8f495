--[[
Lists elicitations of a shard with a charge or with refunds to check, each longest overdue first. They stay due.

KEYS   1 charges to check   2 refunds to check
ARGV   1 clock   2 limit of each   3 milliseconds within which they are due
returns {{elicitation id, ...} of the charges, {elicitation id, ...} of the refunds}
emits  nothing
]]
local up_to = whole(store_clock(ARGV[1]) + tonumber(ARGV[3]))
return {
  redis.call('ZRANGE', KEYS[1], '-inf', up_to, 'BYSCORE', 'LIMIT', '0', ARGV[2]),
  redis.call('ZRANGE', KEYS[2], '-inf', up_to, 'BYSCORE', 'LIMIT', '0', ARGV[2]),
}
