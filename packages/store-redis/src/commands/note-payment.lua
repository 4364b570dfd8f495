--[[
Records that a payment was reported for refund, unless it counted. Repeating the call changes nothing.

KEYS   1 payments of the elicitation
ARGV   1 name of the payment   2 retention in ms
returns {'noted'}
emits  nothing
]]
if redis.call('HSETNX', KEYS[1], ARGV[1], 'reported') == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { 'noted' }
