--[[
Creates an elicitation, unless the same ask is taken or answered already. Repeating it under its operation id finds what
the first call made, however far that has moved since.

KEYS   1 elicitation   2 open asks   3 due index   4 connection or credential that would answer   5 subject limit
       6 events   7 open elicitations of the subject   8 held asks   9 ledger of the MCP server
ARGV   1 clock   2 elicitation id   3 operation id   4 lifetime ms   5 retention ms   6 ask
       7 seen open id   8 '<createdAt> <generation>' of the answer seen   9 limit   10 limit window ms
       11 MCP server id   12 kind   13 events kept   14 wake-up channel   15 listed at most of a subject
       16 '<records> <bytes>' that the shard may keep for the MCP server
       An absent 7 or 8 is the empty string. Then the fields of the record, each with what is in it
returns {'created', createdAt, expiresAt, id of the event}
        {'repeated', <elicitation>}
        {'taken'}                     the id belongs to another operation
        {'answered', generation, createdAt, updatedAt, record, lost, lastUse}
        {'open', elicitation id}
        {'limited', retry after ms}
        {'over_quota', retry after ms}
emits  one event and one wake-up when created
]]
local now = store_clock(ARGV[1])

-- Operation and ask in one field: every field of a live elicitation costs more than what is in it.
local origin = ARGV[3] .. ' ' .. ARGV[6]
local earlier = redis.call('HGET', KEYS[1], 'origin')
if earlier then
  if earlier ~= origin then return { 'taken' } end
  return { 'repeated', unpack(redis.call('HMGET', KEYS[1], unpack(ELICITATION)), 1, #ELICITATION) }
end

-- Before what is open: that may ask for more than the connection has already.
local answer = redis.call('HMGET', KEYS[4], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if answer[1] and answer[2] .. ' ' .. answer[1] ~= ARGV[8] then
  return { 'answered', unpack(answer, 1, 6) }
end

-- An ask is taken while its elicitation is in the due index and not over yet, and also while it is held: it may have been
-- paid, or its result has still to be redeemed.
local open = redis.call('HGET', KEYS[2], ARGV[6])
if open and open ~= ARGV[7] then
  local over = redis.call('ZSCORE', KEYS[3], open)
  if over and tonumber(over) > now then return { 'open', open } end
  local held = redis.call('ZSCORE', KEYS[8], ARGV[6] .. ' ' .. open)
  if held and (held == 'inf' or tonumber(held) > now) then return { 'open', open } end
end

-- Fixed window, kept as "<end of window> <count>".
local count, window_ends = 0, now + tonumber(ARGV[10])
local window = redis.call('GET', KEYS[5])
if window then
  local ends, counted = string.match(window, '^(%d+) (%d+)$')
  if tonumber(ends) > now then count, window_ends = tonumber(counted), tonumber(ends) end
end
if count >= tonumber(ARGV[9]) then return { 'limited', whole(window_ends - now) } end

local expires = now + tonumber(ARGV[4])
local kept_until = expires + tonumber(ARGV[5])
local ledger = open_ledger(KEYS[9], now, kept_until)
ledger.share = ARGV[16]
local reserve = ARGV[12] == 'payment' and COST.reserve_payment or COST.reserve
local charged = charge(ledger, kept_until, weight(ARGV, 17, #ARGV) + reserve)
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end

redis.call('HSET', KEYS[1], 'status', 'pending', 'version', '1', 'createdAt', whole(now), 'expiresAt', whole(expires),
  'origin', origin, 'q', charged, unpack(ARGV, 17))
close_ledger(ledger)
redis.call('PEXPIRE', KEYS[1], whole(tonumber(ARGV[4]) + tonumber(ARGV[5])))
redis.call('HSET', KEYS[2], ARGV[6], ARGV[2])
redis.call('ZADD', KEYS[3], whole(expires), ARGV[2])
-- Kept small: of a subject who is asked that much, those that are over last. What is over already is left out by the readers,
-- is dropped by the next ask, and goes with the index when none comes.
redis.call('ZADD', KEYS[7], whole(expires), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', whole(now))
redis.call('ZREMRANGEBYRANK', KEYS[7], '0', whole(-1 - tonumber(ARGV[15])))
redis.call('PEXPIRE', KEYS[7], whole(math.max(redis.call('PTTL', KEYS[7]), tonumber(ARGV[4]))))
redis.call('SET', KEYS[5], whole(window_ends) .. ' ' .. (count + 1), 'PX', whole(window_ends - now))
local event = redis.call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[13], '*', 'elicitationId', ARGV[2], 'version', '1',
  'status', 'pending', 'mcpServerId', ARGV[11], 'kind', ARGV[12])
redis.call('PUBLISH', ARGV[14], ARGV[2])
return { 'created', whole(now), whole(expires), event }
