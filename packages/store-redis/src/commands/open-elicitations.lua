--[[
Lists open elicitations of one subject at one MCP server that have not expired. The caller then reads their records, because a script must know
its keys beforehand.

returns {now, elicitation id, ...}
emits  nothing
]]
return { whole(now), unpack(redis.call('ZRANGE', keys.open_of, '(' .. whole(now), '+inf', 'BYSCORE')) }
