--[[
Lists elicitations of a shard with a charge or with refunds to check, each longest overdue first. They stay due.

returns {{elicitation id, ...} of the charges, {elicitation id, ...} of the refunds}
emits  nothing
]]
local up_to = whole(now + tonumber(args.within_ms))
return {
  redis.call('ZRANGE', keys.charge_checks, '-inf', up_to, 'BYSCORE', 'LIMIT', '0', args.limit),
  redis.call('ZRANGE', keys.refund_checks, '-inf', up_to, 'BYSCORE', 'LIMIT', '0', args.limit),
}
