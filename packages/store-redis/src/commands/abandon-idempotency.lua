--[[
Gives a reserved idempotency key back. A key that has its answer, or another fingerprint, stays.

KEYS   1 idempotency record   2 ledger of the MCP server
ARGV   1 clock   2 fingerprint
returns 1 when it was given back, else 0
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'response', 'q')
if found[1] ~= ARGV[2] or found[2] then return 0 end
local ledger = open_ledger(KEYS[2], now, now)
discharge(ledger, found[3])

redis.call('DEL', KEYS[1])
close_ledger(ledger)
return 1
