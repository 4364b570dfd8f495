--[[
Reads how much each of several MCP servers stores in a shard. Records whose hour is past do not count, whether they were dropped yet or not.

returns for each key: {records, bytes, lasting records, their bytes}
emits  nothing
]]
local found = {}
for at, key in ipairs(keys.ledgers) do
  local ledger = open_ledger(key, now, now)
  local lasting = ledger.lasting
  found[at] = { whole(ledger.records), whole(ledger.bytes), whole(lasting.records), whole(lasting.bytes) }
end
return found
