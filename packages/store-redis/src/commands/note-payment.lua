--[[
Records that a payment was reported for refund, unless it counted. Repeating the call changes nothing.

returns {'noted'}
emits  nothing
]]
if redis.call('HSETNX', keys.payments, args.payment_name, 'reported') == 1 then
  redis.call('PEXPIRE', keys.payments, args.retention_ms)
end
return { 'noted' }
