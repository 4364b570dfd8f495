--[[
Ends one browser session and takes it off the list of its user: it neither counts as one of the user's, which would end another, nor against
the quota of the MCP server whose application vouched for the user.

returns {'ended'}
emits  nothing
]]
local charged = string.match(redis.call('HGET', keys.browser_sessions_of, args.name) or '', '^%d+ %d+ %S+ (.+)$')
redis.call('DEL', keys.browser_session)
redis.call('HDEL', keys.browser_sessions_of, args.name)
-- Last: before its first write, a full Redis refuses a script that needs memory.
if charged then
  local ledger = open_ledger(keys.ledger, now, now)
  discharge(ledger, charged)
  close_ledger(ledger)
end
return { 'ended' }
