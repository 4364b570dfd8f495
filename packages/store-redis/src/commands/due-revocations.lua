--[[
Lists due revocations of a shard, longest overdue first. The caller then claims each one separately, because a script must
know its keys beforehand.

KEYS   1 due revocations
ARGV   1 clock   2 limit
returns {revocation id, ...}
emits  nothing
]]
return redis.call('ZRANGE', KEYS[1], '-inf', whole(store_clock(ARGV[1])), 'BYSCORE', 'LIMIT', '0', ARGV[2])
