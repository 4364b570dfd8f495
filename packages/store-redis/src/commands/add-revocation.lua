--[[
Stores a pending revocation, due immediately, however full the quota is. Repeating it under its id changes nothing.

KEYS   1 revocation   2 due revocations   3 ledger of its owner
ARGV   1 clock   2 revocation id   3 record   4 lifetime in ms
returns {'added'} or {'known'}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('EXISTS', KEYS[1]) == 1 then return { 'known' } end
local ledger = open_ledger(KEYS[3], now, now + tonumber(ARGV[4]))
local charged = charge(ledger, now + tonumber(ARGV[4]), weight(ARGV, 3, 3) + COST.answer)
redis.call('HSET', KEYS[1], 'record', ARGV[3], 'createdAt', whole(now), 'attempts', '0', 'q', charged)
close_ledger(ledger)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], whole(now), ARGV[2])
return { 'added' }
