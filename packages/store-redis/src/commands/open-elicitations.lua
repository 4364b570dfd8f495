--[[
Lists open elicitations of one subject that are not over. Their records are read afterwards, because their keys are not
known beforehand.

KEYS   1 open elicitations of the subject
ARGV   1 clock
returns {now, elicitation id, ...}
emits  nothing
]]
local now = store_clock(ARGV[1])
return { whole(now), unpack(redis.call('ZRANGE', KEYS[1], '(' .. whole(now), '+inf', 'BYSCORE')) }
