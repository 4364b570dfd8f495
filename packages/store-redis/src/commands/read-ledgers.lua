--[[
Reads how much each of several MCP servers stores in a shard. Records whose hour is past do not count, whether they were dropped yet or not.

KEYS   1 to 16 ledgers; a call for fewer names a key that never exists
ARGV   1 clock
returns for each key: {records, bytes, lasting records, their bytes}
emits  nothing
]]
local now = store_clock(ARGV[1])
local ledgers = { KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12],
  KEYS[13], KEYS[14], KEYS[15], KEYS[16] }
local found = {}
for at, key in ipairs(ledgers) do
  local ledger = open_ledger(key, now, now)
  local lasting = ledger.lasting
  found[at] = { whole(ledger.records), whole(ledger.bytes), whole(lasting.records), whole(lasting.bytes) }
end
return found
