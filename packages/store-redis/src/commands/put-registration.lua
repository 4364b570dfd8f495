--[[
Stores a registration, unless there is one: the first one wins, also against concurrent calls.

KEYS   1 client registration
ARGV   1 record
returns {record}, the stored one
emits  nothing
]]
redis.call('HSETNX', KEYS[1], 'record', ARGV[1])
return { redis.call('HGET', KEYS[1], 'record') }
