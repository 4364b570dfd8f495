-- Prepended to the scripts that cancel the check of refunds: it stays while a refund of any payment of the elicitation is pending. Text
-- from outside cannot match, because its quotes would be escaped.
local function awaits_refund(payments)
  for at = 1, #payments, 2 do
    local is_record = string.sub(payments[at], 1, 1) == ':'
    if is_record and string.find(payments[at + 1], '"status":"pending"', 1, true) then return true end
  end
  return false
end
