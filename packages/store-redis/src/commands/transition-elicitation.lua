--[[
Commits one transition that was decided on a known version: status, effects and event together, or nothing. Repeating the
last transition under its operation id changes nothing and succeeds again.

KEYS   1 elicitation   2 open requests   3 due index   4 events
       5 one-time record   6 connection or credential   7 those of its subject    (5 to 7 unused unless put)
       8 open elicitations of the subject at the MCP server   9 result (unused unless put)   10 held requests
       11 payments of the elicitation (unused unless paid)   12 ledger of the MCP server
       13 payments of the person that count against daily limits (unused unless one is counted or released)
       14 ended elicitations of the subject   15 ended elicitations of the shard
       16 connections or credentials of the shard (unused unless put)   17 payments of the subject (unused unless paid)
       18 ledger of the owner of the connection or credential, which may be that of the MCP server (unused unless put)
       19 one-time record of the attempt that a new one replaces (unused unless there is one)
ARGV   1 clock   2 elicitation id   3 operation id   4 version decided on   5 'early' (before expiresAt only),
       'late' (from expiresAt on only) or 'any'   6 new status
       7 what the transition leaves: 'open', 'charging' (the user may have paid), 'reopened' (it was charging), 'ended' or
       'redeemable' (ended with a result)
       8 retention ms   9 MCP server id   10 kind   11 events kept   12 wake-up channel
       13 lifetime of the one-time record in ms, or ''   14 its record   15 its sealed part
       16 id of the connection or credential, or ''   17 its record
       18 remaining lifetime in ms, or ''   19 record of the result, or ''
       20 name of the payment that counts, or ''   21 retention of payments in ms
       22 minor units to be counted against daily limits, 'release', or ''   23 daily limit
       24 provider or processor that is asked, or ''   25 record of the payment that counts, or ''
       then the fields of the new record, each with its value
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

local now = store_clock(ARGV[1])

local status, known_version, expires, moved_by, origin, charged_before, created =
  unpack(redis.call('HMGET', KEYS[1], 'status', 'version', 'expiresAt', 'movedBy', 'origin', 'q', 'createdAt'), 1, 7)
if not status then return { 'missing' } end
local function as_it_is(result)
  return { result, unpack(redis.call('HMGET', KEYS[1], unpack(ELICITATION)), 1, #ELICITATION) }
end
if moved_by == ARGV[3] then return as_it_is('repeated') end
if known_version ~= ARGV[4] then return as_it_is('conflict') end
local over = now >= tonumber(expires)
if (ARGV[5] == 'early' and over) or (ARGV[5] == 'late' and not over) then return as_it_is('untimely') end
local former, kept_before
if ARGV[16] ~= '' then
  former, kept_before = unpack(redis.call('HMGET', KEYS[6], 'record', 'q'), 1, 2)
  if former and not is_known(former) then return { 'unreadable', former } end
end

local counting, spent, past = tonumber(ARGV[22]), 0, {}
if counting then
  spent, past = counted_besides(KEYS[13], ARGV[2], now)
  if spent + counting > tonumber(ARGV[23]) then return { 'over_daily_limit', whole(spent) } end
end

local expires_before = expires
if ARGV[18] ~= '' and now + tonumber(ARGV[18]) < tonumber(expires) then expires = whole(now + tonumber(ARGV[18])) end

-- The user may have paid: until the processor reports the status, the record counts for the retention of payments.
local ends = now + tonumber(ARGV[7] == 'charging' and ARGV[21] or ARGV[8])
if ARGV[7] == 'open' or ARGV[7] == 'reopened' then ends = math.max(tonumber(expires), now) + tonumber(ARGV[8]) end
local bytes = weight(ARGV, 26, #ARGV) + weight(ARGV, 19, 19) + COST.elicitation
local ledger = open_ledger(KEYS[12], now, ends)
discharge(ledger, charged_before)
local charged = charge(ledger, ends, math.max(bytes, bytes_of(charged_before)))
-- The rest of a taken one-time record stays for at least ten minutes.
local one_time
if ARGV[13] ~= '' then
  discharge(ledger, redis.call('HGET', KEYS[19], 'q'))
  one_time = charge(ledger, now + tonumber(ARGV[13]) + SPENT_MS, weight(ARGV, 14, 15) + COST.one_time)
end
if ARGV[20] ~= '' then charge(ledger, now + tonumber(ARGV[21]), COST.payment + weight(ARGV, 25, 25)) end
if counting then charge(ledger, now + COUNTED_MS, COST.payment) end
-- A connection or credential counts as long as it is stored. One without a charge gets none when it is
-- replaced: its user must be able to connect again.
local lasting, kept, has_grown
if ARGV[16] ~= '' and (kept_before or not former) then
  lasting = KEYS[18] == KEYS[12] and ledger or open_ledger(KEYS[18], now, LASTING_MS)
  lasting.share = ledger.share
  discharge(lasting, kept_before)
  kept = charge(lasting, LASTING_MS, weight(ARGV, 17, 17) + COST.answer)
  has_grown = bytes_of(kept) > bytes_of(kept_before)
  if has_grown and not is_within(lasting, former and MOST_REPLACED or MOST_ADDED, lasting.lasting) then
    return { 'over_quota', retry_after(lasting) }
  end
end
-- Growth up to the reserve is already charged, and transitions about money are committed however full the quota is.
local is_growing = ARGV[10] ~= 'payment' and charged_before and bytes > bytes_of(charged_before)
local is_adding = ARGV[13] ~= '' or has_grown or ARGV[19] ~= '' or is_growing
if is_adding and not is_within(ledger, 8) then return { 'over_quota', retry_after(ledger) } end

local version = whole(tonumber(known_version) + 1)
-- The first write allocates memory: Redis refuses a script for lack of memory only before its first write.
redis.call('HSET', KEYS[1], 'status', ARGV[6], 'version', version, 'movedBy', ARGV[3], 'q', charged, unpack(ARGV, 26))
close_ledger(ledger)
if lasting and lasting ~= ledger then close_ledger(lasting) end
-- The earlier record may have used more fields; this one uses the first of them.
local beyond = RECORD + (#ARGV - 25) / 2
if beyond <= #ELICITATION then redis.call('HDEL', KEYS[1], unpack(ELICITATION, beyond)) end

if expires ~= expires_before then
  redis.call('HSET', KEYS[1], 'expiresAt', expires)
  redis.call('PEXPIRE', KEYS[1], whole(ends - now))
  redis.call('ZADD', KEYS[3], expires, ARGV[2])
  redis.call('ZADD', KEYS[8], 'XX', expires, ARGV[2])
end

local ask = string.match(origin, ' (%S+)$')
local hold = ask .. ' ' .. ARGV[2]

if ARGV[7] == 'charging' then
  -- The gateway must find out whether the user paid, however long that takes: the record stays, and so does its request.
  redis.call('PERSIST', KEYS[1])
  redis.call('ZADD', KEYS[3], expires, ARGV[2])
  redis.call('ZADD', KEYS[10], '+inf', hold)
elseif ARGV[7] == 'reopened' then
  redis.call('PEXPIRE', KEYS[1], whole(math.max(tonumber(expires) - now, 0) + tonumber(ARGV[8])))
  redis.call('ZADD', KEYS[3], expires, ARGV[2])
  redis.call('ZREM', KEYS[10], hold)
elseif ARGV[7] ~= 'open' then
  redis.call('HSET', KEYS[1], 'endedAt', whole(now))
  redis.call('PEXPIRE', KEYS[1], ARGV[8])
  redis.call('ZREM', KEYS[3], ARGV[2])
  redis.call('ZREM', KEYS[8], ARGV[2])
  redis.call('ZADD', KEYS[15], whole(now), ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[15], '-inf', whole(now - tonumber(ARGV[8])))
  redis.call('PEXPIRE', KEYS[15], ARGV[8])
  -- An MCP server alone can cancel and let expire any number of elicitations: those would push out the user's own decisions.
  if ARGV[6] ~= 'cancelled' and ARGV[6] ~= 'expired' then
    redis.call('ZADD', KEYS[14], whole(now), ARGV[2])
    redis.call('ZREMRANGEBYSCORE', KEYS[14], '-inf', whole(now - tonumber(ARGV[8])))
    redis.call('ZREMRANGEBYRANK', KEYS[14], '0', whole(-1 - LISTED_ENDS))
    redis.call('PEXPIRE', KEYS[14], ARGV[8])
  end
  if ARGV[7] == 'redeemable' then
    redis.call('HSET', KEYS[1], 'redeemed', '')
    redis.call('ZADD', KEYS[10], whole(now + tonumber(ARGV[8])), hold)
  else
    redis.call('ZREM', KEYS[10], hold)
    if redis.call('HGET', KEYS[2], ask) == ARGV[2] then redis.call('HDEL', KEYS[2], ask) end
  end
end

if ARGV[19] ~= '' then
  redis.call('HSET', KEYS[9], 'record', ARGV[19])
  redis.call('PEXPIRE', KEYS[9], ARGV[8])
end

if ARGV[20] ~= '' then
  redis.call('HSET', KEYS[11], ARGV[20], 'counted', ':' .. ARGV[20], whole(now) .. ' ' .. ARGV[25])
  redis.call('HINCRBY', KEYS[11], ':version', '1')
  redis.call('PEXPIRE', KEYS[11], ARGV[21])
  redis.call('ZADD', KEYS[17], whole(now), ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', whole(now - tonumber(ARGV[21])))
  redis.call('ZREMRANGEBYRANK', KEYS[17], '0', whole(-1 - LISTED_PAYMENTS))
  redis.call('PEXPIRE', KEYS[17], ARGV[21])
end

if counting then
  for _, elicitation in ipairs(past) do redis.call('HDEL', KEYS[13], elicitation) end
  redis.call('HSET', KEYS[13], ARGV[2], whole(now) .. ' ' .. ARGV[22])
  redis.call('PEXPIRE', KEYS[13], whole(COUNTED_MS))
elseif ARGV[22] == 'release' then
  redis.call('HDEL', KEYS[13], ARGV[2])
end

if ARGV[13] ~= '' then
  -- The response to the former attempt comes too late. The rest says so for a while, and is charged no more.
  if redis.call('HDEL', KEYS[19], 'q') == 1 then
    redis.call('HDEL', KEYS[19], 'sealed')
    redis.call('HSET', KEYS[19], 'expiresAt', whole(now + SPENT_MS))
    redis.call('PEXPIRE', KEYS[19], whole(SPENT_MS))
  end
  redis.call('HSET', KEYS[5], 'record', ARGV[14], 'sealed', ARGV[15], 'expiresAt', whole(now + tonumber(ARGV[13])),
    'q', one_time)
  redis.call('PEXPIRE', KEYS[5], ARGV[13])
end

if ARGV[16] ~= '' then
  local generation = redis.call('HGET', KEYS[6], 'generation') or '0'
  redis.call('HSETNX', KEYS[6], 'createdAt', whole(now))
  redis.call('HSET', KEYS[6], 'generation', whole(tonumber(generation) + 1), 'updatedAt', whole(now), 'record', ARGV[17])
  if kept then redis.call('HSET', KEYS[6], 'q', kept) end
  redis.call('HDEL', KEYS[6], 'lease', 'backOff', 'lost', 'refreshedBy', 'refusals', 'unfinished')
  redis.call('SADD', KEYS[7], ARGV[16])
  redis.call('ZADD', KEYS[16], whole(now), ARGV[16])
  redis.call('PUBLISH', ARGV[12], ARGV[16])
end

local event = redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[11], '*', 'elicitationId', ARGV[2], 'version', version,
  'status', ARGV[6], 'mcpServerId', ARGV[9], 'kind', ARGV[10], 'provider', ARGV[24], 'tookMs', whole(now - tonumber(created)))
redis.call('PUBLISH', ARGV[12], ARGV[2])
return { 'applied', whole(now), expires, event }
