-- Prepended to the scripts that change the list of API keys. A field is `valid`, `revoked <until>` for a key of the store that stays listed
-- until then, or `revoked` for a key of the configuration: without that, it would be valid again. No key of the store needs an entry to be
-- refused, so revoked ones do not count as keys, and only the newest stay.

-- Drops entries whose time has passed, and the oldest of more revoked keys than the maximum. Returns the number of valid keys.
local function tidy(list, now, most_revoked)
  local valid, revoked, dropped = 0, {}, {}
  local fields = redis.call('HGETALL', list)
  for at = 1, #fields, 2 do
    local ends = tonumber(string.match(fields[at + 1], '^revoked (%d+)$') or '')
    if fields[at + 1] == 'valid' then
      valid = valid + 1
    elseif ends and ends <= now then
      table.insert(dropped, fields[at])
    elseif ends then
      table.insert(revoked, { id = fields[at], ends = ends })
    end
  end
  table.sort(revoked, function(a, b) return a.ends > b.ends end)
  for at = tonumber(most_revoked) + 1, #revoked do table.insert(dropped, revoked[at].id) end
  for at = 1, #dropped do redis.call('HDEL', list, dropped[at]) end
  return valid
end
