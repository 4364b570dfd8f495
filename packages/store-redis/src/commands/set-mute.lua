--[[
Mutes an MCP server for one subject, or undoes it. Creating an elicitation reads the same key in its own commit, so no elicitation
is created after a mute.

KEYS   1 MCP servers that the subject muted
ARGV   1 clock   2 MCP server id   3 'muted' or 'heard'
returns {'changed'} or {'unchanged'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local changed = 0
if ARGV[3] == 'muted' then
  changed = redis.call('HSETNX', KEYS[1], ARGV[2], whole(now))
else
  changed = redis.call('HDEL', KEYS[1], ARGV[2])
end
return { changed == 1 and 'changed' or 'unchanged' }
