--[[
Deletes a revocation that is done or given up.

KEYS   1 revocation   2 due revocations   3 ledger of its owner
ARGV   1 clock   2 revocation id
returns {}
emits  nothing
]]
local now = store_clock(ARGV[1])

local charged = redis.call('HGET', KEYS[1], 'q')
local ledger = open_ledger(KEYS[3], now, now)
discharge(ledger, charged)
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
if charged then close_ledger(ledger) end
return {}
