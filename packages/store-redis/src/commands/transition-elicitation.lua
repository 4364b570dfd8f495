--[[
Commits one transition that was decided on a known version: status, effects and event together, or nothing. Repeating the
last transition under its operation id changes nothing and succeeds again.

returns {'applied', now, expiresAt, id of the event}
        {'repeated' | 'conflict' | 'untimely', <elicitation>}
        {'missing'}
        {'over_quota', retry after ms}
        {'over_daily_limit', sum of the other payments}
        {'unreadable', record}        of the connection or credential that would be replaced
emits  one event and one wake-up if applied, and a wake-up of the connection or credential that is put
]]
-- Maximum number of ended elicitations and of payments listed per subject.
local LISTED_ENDS = 100
local LISTED_PAYMENTS = 1000

local status, known_version, expires, moved_by, origin, charged_before, created =
  unpack(redis.call('HMGET', keys.elicitation, 'status', 'version', 'expiresAt', 'movedBy', 'origin', 'q', 'createdAt'), 1, 7)
if not status then return { 'missing' } end
local function as_it_is(result)
  return { result, unpack(redis.call('HMGET', keys.elicitation, unpack(ELICITATION)), 1, #ELICITATION) }
end
if moved_by == args.operation_id then return as_it_is('repeated') end
if known_version ~= args.version then return as_it_is('conflict') end
local over = now >= tonumber(expires)
if (args.timing == 'early' and over) or (args.timing == 'late' and not over) then return as_it_is('untimely') end
local former, kept_before
if args.answer_id ~= '' then
  former, kept_before = unpack(redis.call('HMGET', keys.answer, 'record', 'q'), 1, 2)
  if former and not is_known(former) then return { 'unreadable', former } end
end

local counting, spent, past = tonumber(args.counted_units), 0, {}
if counting then
  spent, past = counted_besides(keys.counted_payments, args.elicitation_id, now)
  if spent + counting > tonumber(args.daily_limit) then return { 'over_daily_limit', whole(spent) } end
end

local expires_before = expires
local expires_within = tonumber(args.expires_within_ms)
if expires_within and now + expires_within < tonumber(expires) then expires = whole(now + expires_within) end

-- The user may have paid: until the processor reports the status, the record counts for the retention of payments.
local ends = now + tonumber(args.leaves == 'charging' and args.payment_retention_ms or args.retention_ms)
if args.leaves == 'open' or args.leaves == 'reopened' then ends = math.max(tonumber(expires), now) + tonumber(args.retention_ms) end
local bytes = weight(args.record_fields) + weight({ args.result }) + COST.elicitation
local ledger = open_ledger(keys.ledger, now, ends)
discharge(ledger, charged_before)
local charged = charge(ledger, ends, math.max(bytes, bytes_of(charged_before)))
-- The rest of a taken one-time record stays for at least ten minutes.
local one_time
if args.one_time_ttl_ms ~= '' then
  discharge(ledger, redis.call('HGET', keys.former_one_time, 'q'))
  local texts = { args.one_time_record, args.one_time_sealed }
  one_time = charge(ledger, now + tonumber(args.one_time_ttl_ms) + SPENT_MS, weight(texts) + COST.one_time)
end
if args.payment_name ~= '' then charge(ledger, now + tonumber(args.payment_retention_ms), COST.payment + weight({ args.payment })) end
if counting then charge(ledger, now + COUNTED_MS, COST.payment) end
-- A connection or credential counts as long as it is stored. One without a charge gets none when it is
-- replaced: its user must be able to connect again.
local lasting, kept, has_grown
if args.answer_id ~= '' and (kept_before or not former) then
  lasting = keys.answer_ledger == keys.ledger and ledger or open_ledger(keys.answer_ledger, now, LASTING_MS)
  lasting.share = ledger.share
  discharge(lasting, kept_before)
  kept = charge(lasting, LASTING_MS, weight({ args.answer_record }) + COST.answer)
  has_grown = bytes_of(kept) > bytes_of(kept_before)
  if has_grown and not is_within(lasting, former and MOST_REPLACED or MOST_ADDED, lasting.lasting) then
    return { 'over_quota', retry_after(lasting) }
  end
end
-- Growth up to the reserve is already charged, and transitions about money are committed however full the quota is.
local is_growing = args.kind ~= 'payment' and charged_before and bytes > bytes_of(charged_before)
local is_adding = args.one_time_ttl_ms ~= '' or has_grown or args.result ~= '' or is_growing
if is_adding and not is_within(ledger, 8) then return { 'over_quota', retry_after(ledger) } end

local version = whole(tonumber(known_version) + 1)
-- The first write allocates memory: Redis refuses a script for lack of memory only before its first write.
redis.call('HSET', keys.elicitation, 'status', args.status, 'version', version, 'movedBy', args.operation_id, 'q', charged,
  unpack(args.record_fields))
close_ledger(ledger)
if lasting and lasting ~= ledger then close_ledger(lasting) end
-- The earlier record may have used more fields; this one uses the first of them.
local beyond = RECORD + #args.record_fields / 2
if beyond <= #ELICITATION then redis.call('HDEL', keys.elicitation, unpack(ELICITATION, beyond)) end

if expires ~= expires_before then
  redis.call('HSET', keys.elicitation, 'expiresAt', expires)
  redis.call('PEXPIRE', keys.elicitation, whole(ends - now))
  redis.call('ZADD', keys.due, expires, args.elicitation_id)
  redis.call('ZADD', keys.open_of, 'XX', expires, args.elicitation_id)
end

local ask = string.match(origin, ' (%S+)$')
local hold = ask .. ' ' .. args.elicitation_id

if args.leaves == 'charging' then
  -- The gateway must find out whether the user paid, however long that takes: the record stays, and so does its request.
  redis.call('PERSIST', keys.elicitation)
  redis.call('ZADD', keys.due, expires, args.elicitation_id)
  redis.call('ZADD', keys.held, '+inf', hold)
elseif args.leaves == 'reopened' then
  redis.call('PEXPIRE', keys.elicitation, whole(math.max(tonumber(expires) - now, 0) + tonumber(args.retention_ms)))
  redis.call('ZADD', keys.due, expires, args.elicitation_id)
  redis.call('ZREM', keys.held, hold)
elseif args.leaves ~= 'open' then
  redis.call('HSET', keys.elicitation, 'endedAt', whole(now))
  redis.call('PEXPIRE', keys.elicitation, args.retention_ms)
  redis.call('ZREM', keys.due, args.elicitation_id)
  redis.call('ZREM', keys.open_of, args.elicitation_id)
  redis.call('ZADD', keys.ended, whole(now), args.elicitation_id)
  redis.call('ZREMRANGEBYSCORE', keys.ended, '-inf', whole(now - tonumber(args.retention_ms)))
  redis.call('PEXPIRE', keys.ended, args.retention_ms)
  -- An MCP server alone can cancel and let expire any number of elicitations: those would push out the user's own decisions.
  if args.status ~= 'cancelled' and args.status ~= 'expired' then
    redis.call('ZADD', keys.ended_of, whole(now), args.elicitation_id)
    redis.call('ZREMRANGEBYSCORE', keys.ended_of, '-inf', whole(now - tonumber(args.retention_ms)))
    redis.call('ZREMRANGEBYRANK', keys.ended_of, '0', whole(-1 - LISTED_ENDS))
    redis.call('PEXPIRE', keys.ended_of, args.retention_ms)
  end
  if args.leaves == 'redeemable' then
    redis.call('HSET', keys.elicitation, 'redeemed', '')
    redis.call('ZADD', keys.held, whole(now + tonumber(args.retention_ms)), hold)
  else
    redis.call('ZREM', keys.held, hold)
    if redis.call('HGET', keys.open, ask) == args.elicitation_id then redis.call('HDEL', keys.open, ask) end
  end
end

if args.result ~= '' then
  redis.call('HSET', keys.result, 'record', args.result)
  redis.call('PEXPIRE', keys.result, args.retention_ms)
end

if args.payment_name ~= '' then
  redis.call('HSET', keys.payments, args.payment_name, 'counted', ':' .. args.payment_name, whole(now) .. ' ' .. args.payment)
  redis.call('HINCRBY', keys.payments, ':version', '1')
  redis.call('PEXPIRE', keys.payments, args.payment_retention_ms)
  redis.call('ZADD', keys.paid_by, whole(now), args.elicitation_id)
  redis.call('ZREMRANGEBYSCORE', keys.paid_by, '-inf', whole(now - tonumber(args.payment_retention_ms)))
  redis.call('ZREMRANGEBYRANK', keys.paid_by, '0', whole(-1 - LISTED_PAYMENTS))
  redis.call('PEXPIRE', keys.paid_by, args.payment_retention_ms)
end

if counting then
  for _, elicitation in ipairs(past) do redis.call('HDEL', keys.counted_payments, elicitation) end
  redis.call('HSET', keys.counted_payments, args.elicitation_id, whole(now) .. ' ' .. args.counted_units)
  redis.call('PEXPIRE', keys.counted_payments, whole(COUNTED_MS))
elseif args.is_released == '1' then
  redis.call('HDEL', keys.counted_payments, args.elicitation_id)
end

if args.one_time_ttl_ms ~= '' then
  -- The response to the former attempt comes too late. The rest says so for a while, and is charged no more.
  if redis.call('HDEL', keys.former_one_time, 'q') == 1 then
    redis.call('HDEL', keys.former_one_time, 'sealed')
    redis.call('HSET', keys.former_one_time, 'expiresAt', whole(now + SPENT_MS))
    redis.call('PEXPIRE', keys.former_one_time, whole(SPENT_MS))
  end
  redis.call('HSET', keys.one_time, 'record', args.one_time_record, 'sealed', args.one_time_sealed,
    'expiresAt', whole(now + tonumber(args.one_time_ttl_ms)), 'q', one_time)
  redis.call('PEXPIRE', keys.one_time, args.one_time_ttl_ms)
end

if args.answer_id ~= '' then
  local generation = redis.call('HGET', keys.answer, 'generation') or '0'
  redis.call('HSETNX', keys.answer, 'createdAt', whole(now))
  redis.call('HSET', keys.answer, 'generation', whole(tonumber(generation) + 1), 'updatedAt', whole(now),
    'record', args.answer_record)
  if kept then redis.call('HSET', keys.answer, 'q', kept) end
  redis.call('HDEL', keys.answer, 'lease', 'backOff', 'lost', 'refreshedBy', 'refusals', 'unfinished')
  redis.call('SADD', keys.answers_of, args.answer_id)
  redis.call('ZADD', keys.answers, whole(now), args.answer_id)
  redis.call('PUBLISH', args.wake_up_channel, args.answer_id)
end

local event = redis.call('XADD', keys.events, 'MAXLEN', '~', args.events_kept, '*', 'elicitationId', args.elicitation_id,
  'version', version, 'status', args.status, 'mcpServerId', args.mcp_server_id, 'kind', args.kind, 'provider', args.provider,
  'tookMs', whole(now - tonumber(created)))
redis.call('PUBLISH', args.wake_up_channel, args.elicitation_id)
return { 'applied', whole(now), expires, event }
