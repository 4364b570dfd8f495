--[[
Keeps the answer to a reserved idempotency key. The first answer stays; another fingerprint changes nothing.

KEYS   1 idempotency record   2 ledger of the MCP server
ARGV   1 clock   2 fingerprint   3 response   4 retention ms
returns 1 when this answer is kept, else 0
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'response', 'q')
if found[1] ~= ARGV[2] or found[2] then return 0 end
local kept_until = now + tonumber(ARGV[4])
local ledger = open_ledger(KEYS[2], now, kept_until)
discharge(ledger, found[3])
local charged = charge(ledger, kept_until, weight(ARGV, 3, 3) + COST.idempotency)

redis.call('HSET', KEYS[1], 'response', ARGV[3], 'q', charged, 'keepUntil', whole(kept_until))
close_ledger(ledger)
redis.call('HDEL', KEYS[1], 'leaseUntil', 'reservation')
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
