-- Records that the passkeys of a user change, before the change itself. Changes count as one until the user uses an older
-- passkey: a new passkey cannot confirm itself, nor can one that it authorized. Also stores the announcement, if there is one:
-- announcements wait for delivery for at most 30 days, and at most 1,000 per shard.
local PASSKEY_NOTICE_MS = 14 * 24 * 3600 * 1000
local ANNOUNCED_MS = 30 * 24 * 3600 * 1000

-- What the passkeys of a user and the facts about them count in the ledger of the MCP server that says who the user is. The facts stay
-- when the passkeys are gone.
local function passkeys_bytes(passkeys)
  local all = redis.call('HGETALL', passkeys)
  return COST.passkeys + weight(all) + #all / 2 * COST.passkey
end

-- Counts the passkeys again after a removal, in the ledger of `payer`. Does nothing if they have no charge, because a sign-in says who
-- the user is.
local function recount_passkeys(passkeys, facts, ledger_key, payer, now)
  local charged, by = unpack(redis.call('HMGET', facts, 'q', 'payer'), 1, 2)
  if not charged or by ~= payer then return end
  local ledger = open_ledger(ledger_key, now, LASTING_MS)
  discharge(ledger, charged)
  redis.call('HSET', facts, 'q', charge(ledger, LASTING_MS, passkeys_bytes(passkeys)))
  close_ledger(ledger)
end

local function note_passkey_change(passkeys, facts, now, announcements, what, announcement)
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
  if announcement ~= '' then
    redis.call('ZADD', announcements, whole(now), announcement .. ' ' .. what)
    redis.call('ZREMRANGEBYRANK', announcements, '0', '-1001')
    redis.call('PEXPIRE', announcements, whole(ANNOUNCED_MS))
  end
end
