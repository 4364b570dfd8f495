-- Notes that the passkeys of a person change. Changes that no passkey from before them was used after are one: whoever has added a passkey
-- cannot confirm it with that one, nor with another that it permits. To be called before the change itself.
local PASSKEY_NOTICE_MS = 14 * 24 * 3600 * 1000
local function note_passkey_change(passkeys, facts, now)
  local known = redis.call('HMGET', facts, 'since', 'changed')
  local since, changed = tonumber(known[1] or ''), tonumber(known[2] or '')
  local is_over = not since or now - changed >= PASSKEY_NOTICE_MS
  if not is_over then
    local all = redis.call('HGETALL', passkeys)
    for at = 2, #all, 2 do
      local created, used = string.match(all[at], '^%d+ [01] (%d+) (%d+) ')
      if tonumber(created) < since and tonumber(used) > changed then is_over = true end
    end
  end
  redis.call('HSET', facts, 'since', whole(is_over and now or since), 'changed', whole(now))
end
