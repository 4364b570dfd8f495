-- Prepended to the scripts that store a response for an Idempotency-Key. The record of a key is '<fingerprint> <kept until>
-- <answer>'.

-- Returns nothing, {'replayed', answer}, or {'key_reused'} if another request has used the key.
local function answer_under(key, fingerprint, now)
  local found = redis.call('GET', key)
  if not found then return nil end
  local of, kept_until, answer = string.match(found, '^(%S+) (%d+) (.*)$')
  if now >= tonumber(kept_until) then return nil end
  if of ~= fingerprint then return { 'key_reused' } end
  return { 'replayed', answer }
end

-- Counts the record in an open ledger and returns it. The caller stores it when the ledger is closed.
local function answer_record(ledger, fingerprint, kept_until, answer)
  local record = fingerprint .. ' ' .. whole(kept_until) .. ' ' .. answer
  charge(ledger, kept_until, math.ceil(#record * 1.25) + COST.idempotency)
  return record
end
