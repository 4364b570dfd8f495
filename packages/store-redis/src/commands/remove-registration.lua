--[[
Removes a registration, if it is the expected one: another replica may have made a new one since.

KEYS   1 client registration
ARGV   1 record expected
returns {}
emits  nothing
]]
if redis.call('HGET', KEYS[1], 'record') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {}
