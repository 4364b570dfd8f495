--[[
Mutes an MCP server for one subject, or undoes it. Creating an elicitation reads the same key in its own commit, so no elicitation
is created after a mute.

returns {'changed'} or {'unchanged'}
emits  nothing
]]
local changed = 0
if args.is_muted == '1' then
  changed = redis.call('HSETNX', keys.muted_by, args.mcp_server_id, whole(now))
else
  changed = redis.call('HDEL', keys.muted_by, args.mcp_server_id)
end
return { changed == 1 and 'changed' or 'unchanged' }
