--[[
Lists open elicitations of one subject that have not expired. The caller then reads their records, because a script must know
its keys beforehand.

KEYS   1 open elicitations of the subject
ARGV   1 clock
returns {now, elicitation id, ...}
emits  nothing
]]
local now = store_clock(ARGV[1])
return { whole(now), unpack(redis.call('ZRANGE', KEYS[1], '(' .. whole(now), '+inf', 'BYSCORE')) }
