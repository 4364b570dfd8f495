--[[
Stores a registration, unless there is one: the first one wins, also against concurrent calls.

returns {record}, the stored one
emits  nothing
]]
redis.call('HSETNX', keys.client_registration, 'record', args.record)
return { redis.call('HGET', keys.client_registration, 'record') }
