-- Refusals of one token set: `<generation> <first at> <last at> <count> <1 if the last attempt was refused, otherwise 0>`. A gateway of an
-- earlier release leaves them behind when it stores a token set, so those of another generation count as none.
local function refusals_of(stored, generation)
  if stored and string.match(stored, '^(%d+) ') == generation then return stored end
  return ''
end
