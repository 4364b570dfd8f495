--[[
Lists open elicitations of one subject at one MCP server that have not expired. The caller then reads their records, because a script must know
its keys beforehand.

KEYS   1 open elicitations of the subject at the MCP server
ARGV   1 clock
returns {now, elicitation id, ...}
emits  nothing
]]
local now = store_clock(ARGV[1])
return { whole(now), unpack(redis.call('ZRANGE', KEYS[1], '(' .. whole(now), '+inf', 'BYSCORE')) }
