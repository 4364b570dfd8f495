-- Prepended to the script that approves payments. A user's payments to an MCP server in one currency that count against daily
-- limits: by elicitation, `<approved at> <minor units>`.
local COUNTED_MS = 24 * 3600 * 1000
-- Returns the sum of the other payments, and the elicitations that no longer count.
local function counted_besides(payments, elicitation, now)
  local spent, past = 0, {}
  local all = redis.call('HGETALL', payments)
  for at = 1, #all, 2 do
    local approved, units = string.match(all[at + 1], '^(%d+) (%d+)$')
    if tonumber(approved) + COUNTED_MS <= now then
      table.insert(past, all[at])
    elseif all[at] ~= elicitation then
      spent = spent + tonumber(units)
    end
  end
  return spent, past
end
