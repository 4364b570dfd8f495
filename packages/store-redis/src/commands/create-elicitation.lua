--[[
Creates an elicitation, unless the same request is already open or answered. A repeat under the same operation id finds the
elicitation of the first call, in whatever status it is now; a repeat under the same idempotency key gets the response of the
first call.

returns {'created', createdAt, expiresAt, id of the event}
        {'repeated', <elicitation>}
        {'replayed', response}        stored under the idempotency key: a response, or '<elicitation id> <createdAt> <expiresAt>'
        {'key_reused'}                another request has used the idempotency key
        {'taken'}                     the id belongs to another operation
        {'existing', generation, createdAt, updatedAt, record, lost, lastUse}
        {'open', elicitation id}
        {'muted'}
        {'limited', retry after ms}
        {'crowded', retry after ms}   too many open elicitations
        {'over_quota', retry after ms}
emits  one event and one wake-up when created
]]
if args.fingerprint ~= '' then
  local answer = answer_under(keys.idempotency, args.fingerprint, now)
  if answer then return answer end
end

-- Operation and request digest share a field: in a live elicitation, a further field costs more than its content.
local origin = args.operation_id .. ' ' .. args.ask
local earlier = redis.call('HGET', keys.elicitation, 'origin')
if earlier then
  if earlier ~= origin then return { 'taken' } end
  return { 'repeated', unpack(redis.call('HMGET', keys.elicitation, unpack(ELICITATION)), 1, #ELICITATION) }
end

-- Checked before open requests, which may ask for more than the connection already has.
local answer = redis.call('HMGET', keys.answer, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if answer[1] and answer[2] .. ' ' .. answer[1] ~= args.seen_answer then
  return { 'existing', unpack(answer, 1, 6) }
end

-- A request stays assigned to its elicitation while that is in the due index and has not expired, and also while it is held: the
-- user may have paid, or the result is not redeemed yet.
local open = redis.call('HGET', keys.open, args.ask)
if open and open ~= args.seen_open_id then
  local over = redis.call('ZSCORE', keys.due, open)
  if over and tonumber(over) > now then return { 'open', open } end
  local held = redis.call('ZSCORE', keys.held, args.ask .. ' ' .. open)
  if held and (held == 'inf' or tonumber(held) > now) then return { 'open', open } end
end

-- After the answers that need no attention of the user: a mute and both limits only refuse to create.
if redis.call('HGET', keys.muted_by, args.mcp_server_id) then return { 'muted' } end

-- Fixed window, kept as "<end of window> <count>". One that ends later than a window of now was kept while the clock was ahead.
local CLOCK_STEP_MS = 60000
local count, window_ends = 0, now + tonumber(args.limit_window_ms)
local window = redis.call('GET', keys.subject_limit)
if window then
  local ends, counted = string.match(window, '^(%d+) (%d+)$')
  if tonumber(ends) > now and tonumber(ends) <= window_ends + CLOCK_STEP_MS then
    count, window_ends = tonumber(counted), tonumber(ends)
  end
end
if count >= tonumber(args.limit) then return { 'limited', whole(window_ends - now) } end

-- The open elicitation that expires as the nth of those that have not expired, with its time.
local function open_at(nth)
  return redis.call('ZRANGE', keys.open_of, '(' .. whole(now), '+inf', 'BYSCORE', 'LIMIT', whole(nth - 1), '1', 'WITHSCORES')
end
if open_at(tonumber(args.open_max))[1] then return { 'crowded', whole(tonumber(open_at(1)[2]) - now) } end

local expires = now + tonumber(args.ttl_ms)
local kept_until = expires + tonumber(args.retention_ms)
local ledger = open_ledger(keys.ledger, now, kept_until)
ledger.share = args.share
local reserve = args.kind == 'payment' and COST.reserve_payment or COST.reserve
local charged = charge(ledger, kept_until, weight(args.record_fields) + reserve)
local record
if args.fingerprint ~= '' then
  local answer = args.elicitation_id .. ' ' .. whole(now) .. ' ' .. whole(expires)
  record = answer_record(ledger, args.fingerprint, now + tonumber(args.idempotency_retention_ms), answer)
end
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end
-- Otherwise the user would agree at the provider in vain.
local answered = { records = ledger.lasting.records + 1, bytes = ledger.lasting.bytes + COST.answer }
if args.is_lasting == '1' and not answer[1] and not is_within(ledger, MOST_ADDED, answered) then
  return { 'over_quota', retry_after(ledger) }
end

redis.call('HSET', keys.elicitation, 'status', 'pending', 'version', '1', 'createdAt', whole(now), 'expiresAt', whole(expires),
  'origin', origin, 'q', charged, unpack(args.record_fields))
close_ledger(ledger)
if record then redis.call('SET', keys.idempotency, record, 'PX', args.idempotency_retention_ms) end
redis.call('PEXPIRE', keys.elicitation, whole(tonumber(args.ttl_ms) + tonumber(args.retention_ms)))
redis.call('HSET', keys.open, args.ask, args.elicitation_id)
redis.call('ZADD', keys.due, whole(expires), args.elicitation_id)
-- Readers skip expired entries, the next request drops them, and otherwise they expire with the index.
redis.call('ZADD', keys.open_of, whole(expires), args.elicitation_id)
redis.call('ZREMRANGEBYSCORE', keys.open_of, '-inf', whole(now))
redis.call('PEXPIRE', keys.open_of, whole(math.max(redis.call('PTTL', keys.open_of), tonumber(args.ttl_ms))))
redis.call('SET', keys.subject_limit, whole(window_ends) .. ' ' .. (count + 1), 'PX', whole(window_ends - now))
local event = redis.call('XADD', keys.events, 'MAXLEN', '~', args.events_kept, '*', 'elicitationId', args.elicitation_id,
  'version', '1', 'status', 'pending', 'mcpServerId', args.mcp_server_id, 'kind', args.kind, 'provider', args.provider)
redis.call('PUBLISH', args.wake_up_channel, args.elicitation_id)
return { 'created', whole(now), whole(expires), event }
