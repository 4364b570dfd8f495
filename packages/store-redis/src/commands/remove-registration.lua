--[[
Removes a registration, if it is the expected one: another replica may have made a new one since.

returns {}
emits  nothing
]]
if redis.call('HGET', keys.client_registration, 'record') == args.record then redis.call('DEL', keys.client_registration) end
return {}
