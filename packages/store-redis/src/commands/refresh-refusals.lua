-- Refusals of one token set: `<generation> <first at> <last at> <count> <1 if the last attempt was refused, otherwise 0>`. Those of another
-- generation count as none.
local function refusals_of(stored, generation)
  if stored and string.match(stored, '^(%d+) ') == generation then return stored end
  return ''
end
