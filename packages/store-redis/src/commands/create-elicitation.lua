--[[
Creates an elicitation, unless the same request is already open or answered. A repeat under the same operation id finds the
elicitation of the first call, in whatever status it is now; a repeat under the same idempotency key gets the response of the
first call.

KEYS   1 elicitation   2 open requests   3 due index   4 connection or credential that may answer it   5 subject limit
       6 events   7 open elicitations of the subject at the MCP server   8 held requests   9 ledger of the MCP server
       10 idempotency record   11 MCP servers that the subject muted
ARGV   1 clock   2 elicitation id   3 operation id   4 lifetime ms   5 retention ms   6 request digest
       7 seen open id   8 '<createdAt> <generation>' of the answer seen   9 limit   10 limit window ms
       11 MCP server id   12 kind   13 events kept   14 wake-up channel
       15 maximum number of open elicitations of the subject at the MCP server
       16 '<records> <bytes>' that the shard may keep for the MCP server
       17 fingerprint of the request with the idempotency key   18 retention of idempotency records ms
       19 provider or processor that is asked, or ''   20 'lasting' if the answer will be a connection or credential, else ''
       An absent 7, 8 or 17 is the empty string. Then the fields of the record, each with its value
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
local now = store_clock(ARGV[1])

if ARGV[17] ~= '' then
  local answer = answer_under(KEYS[10], ARGV[17], now)
  if answer then return answer end
end

-- Operation and request digest share a field: in a live elicitation, a further field costs more than its content.
local origin = ARGV[3] .. ' ' .. ARGV[6]
local earlier = redis.call('HGET', KEYS[1], 'origin')
if earlier then
  if earlier ~= origin then return { 'taken' } end
  return { 'repeated', unpack(redis.call('HMGET', KEYS[1], unpack(ELICITATION)), 1, #ELICITATION) }
end

-- Checked before open requests, which may ask for more than the connection already has.
local answer = redis.call('HMGET', KEYS[4], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if answer[1] and answer[2] .. ' ' .. answer[1] ~= ARGV[8] then
  return { 'existing', unpack(answer, 1, 6) }
end

-- A request stays assigned to its elicitation while that is in the due index and has not expired, and also while it is held: the
-- user may have paid, or the result is not redeemed yet.
local open = redis.call('HGET', KEYS[2], ARGV[6])
if open and open ~= ARGV[7] then
  local over = redis.call('ZSCORE', KEYS[3], open)
  if over and tonumber(over) > now then return { 'open', open } end
  local held = redis.call('ZSCORE', KEYS[8], ARGV[6] .. ' ' .. open)
  if held and (held == 'inf' or tonumber(held) > now) then return { 'open', open } end
end

-- After the answers that need no attention of the user: a mute and both limits only refuse to create.
if redis.call('HGET', KEYS[11], ARGV[11]) then return { 'muted' } end

-- Fixed window, kept as "<end of window> <count>". One that ends later than a window of now was kept while the clock was ahead.
local CLOCK_STEP_MS = 60000
local count, window_ends = 0, now + tonumber(ARGV[10])
local window = redis.call('GET', KEYS[5])
if window then
  local ends, counted = string.match(window, '^(%d+) (%d+)$')
  if tonumber(ends) > now and tonumber(ends) <= window_ends + CLOCK_STEP_MS then
    count, window_ends = tonumber(counted), tonumber(ends)
  end
end
if count >= tonumber(ARGV[9]) then return { 'limited', whole(window_ends - now) } end

-- The open elicitation that expires as the nth of those that have not expired, with its time.
local function open_at(nth)
  return redis.call('ZRANGE', KEYS[7], '(' .. whole(now), '+inf', 'BYSCORE', 'LIMIT', whole(nth - 1), '1', 'WITHSCORES')
end
if open_at(tonumber(ARGV[15]))[1] then return { 'crowded', whole(tonumber(open_at(1)[2]) - now) } end

local expires = now + tonumber(ARGV[4])
local kept_until = expires + tonumber(ARGV[5])
local ledger = open_ledger(KEYS[9], now, kept_until)
ledger.share = ARGV[16]
local reserve = ARGV[12] == 'payment' and COST.reserve_payment or COST.reserve
local charged = charge(ledger, kept_until, weight(ARGV, 21, #ARGV) + reserve)
local record
if ARGV[17] ~= '' then
  local answer = ARGV[2] .. ' ' .. whole(now) .. ' ' .. whole(expires)
  record = answer_record(ledger, ARGV[17], now + tonumber(ARGV[18]), answer)
end
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end
-- Otherwise the user would agree at the provider in vain.
local answered = { records = ledger.lasting.records + 1, bytes = ledger.lasting.bytes + COST.answer }
if ARGV[20] ~= '' and not answer[1] and not is_within(ledger, MOST_ADDED, answered) then
  return { 'over_quota', retry_after(ledger) }
end

redis.call('HSET', KEYS[1], 'status', 'pending', 'version', '1', 'createdAt', whole(now), 'expiresAt', whole(expires),
  'origin', origin, 'q', charged, unpack(ARGV, 21))
close_ledger(ledger)
if record then redis.call('SET', KEYS[10], record, 'PX', ARGV[18]) end
redis.call('PEXPIRE', KEYS[1], whole(tonumber(ARGV[4]) + tonumber(ARGV[5])))
redis.call('HSET', KEYS[2], ARGV[6], ARGV[2])
redis.call('ZADD', KEYS[3], whole(expires), ARGV[2])
-- Readers skip expired entries, the next request drops them, and otherwise they expire with the index.
redis.call('ZADD', KEYS[7], whole(expires), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', whole(now))
redis.call('PEXPIRE', KEYS[7], whole(math.max(redis.call('PTTL', KEYS[7]), tonumber(ARGV[4]))))
redis.call('SET', KEYS[5], whole(window_ends) .. ' ' .. (count + 1), 'PX', whole(window_ends - now))
local event = redis.call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[13], '*', 'elicitationId', ARGV[2], 'version', '1',
  'status', 'pending', 'mcpServerId', ARGV[11], 'kind', ARGV[12], 'provider', ARGV[19])
redis.call('PUBLISH', ARGV[14], ARGV[2])
return { 'created', whole(now), whole(expires), event }
