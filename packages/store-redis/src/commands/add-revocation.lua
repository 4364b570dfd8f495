--[[
Stores a pending revocation, due immediately. Repeating it under its id changes nothing.

KEYS   1 revocation   2 due revocations
ARGV   1 clock   2 revocation id   3 record   4 lifetime in ms
returns {'added'} or {'known'}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('EXISTS', KEYS[1]) == 1 then return { 'known' } end
redis.call('HSET', KEYS[1], 'record', ARGV[3], 'createdAt', whole(now), 'attempts', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], whole(now), ARGV[2])
return { 'added' }
