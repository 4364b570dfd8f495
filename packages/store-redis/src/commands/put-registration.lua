--[[
Keeps a registration, unless there is one: the first one wins, also over those that come at the same time.

KEYS   1 client registration
ARGV   1 record
returns {record} that is stored now
emits  nothing
]]
redis.call('HSETNX', KEYS[1], 'record', ARGV[1])
return { redis.call('HGET', KEYS[1], 'record') }
