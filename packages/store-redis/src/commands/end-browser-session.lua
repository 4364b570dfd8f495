--[[
Ends one browser session and takes it off the list of its user: it neither counts as one of the user's, which would end another, nor against
the quota of the MCP server whose application vouched for the user.

KEYS   1 browser session   2 browser sessions of its subject   3 ledger of the MCP server whose application vouched for the user
ARGV   1 clock   2 name of the session in the list
returns {'ended'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local charged = string.match(redis.call('HGET', KEYS[2], ARGV[2]) or '', '^%d+ %d+ %S+ (.+)$')
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], ARGV[2])
-- Last: before its first write, a full Redis refuses a script that needs memory.
if charged then
  local ledger = open_ledger(KEYS[3], now, now)
  discharge(ledger, charged)
  close_ledger(ledger)
end
return { 'ended' }
