--[[
Lists revocations of a shard that are due, those that waited longest first. Each is then claimed on its own: the keys of
what is due are not known beforehand.

KEYS   1 due revocations
ARGV   1 clock   2 limit
returns {revocation id, ...}
emits  nothing
]]
return redis.call('ZRANGE', KEYS[1], '-inf', whole(store_clock(ARGV[1])), 'BYSCORE', 'LIMIT', '0', ARGV[2])
