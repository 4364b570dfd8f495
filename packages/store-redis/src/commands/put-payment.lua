--[[
Commits a change of a payment that was decided on a known version of the payments of its elicitation, with its event, and
schedules the check of its refunds, or cancels it if no refund of the elicitation is pending. A payment that was never
stored is added with the time of this commit.

KEYS   1 payments of the elicitation   2 refunds to check   3 events   4 ledger of the MCP server
ARGV   1 clock   2 elicitation id   3 name of the payment   4 version decided on   5 record of the payment
       6 its time, or '' to add it   7 retention of payments in ms   8 delay of the check in ms, or ''
       9 type of the event, or ''   10 version of the event   11 MCP server id   12 events kept   13 wake-up channel
returns {'committed', id of the event or ''}
        {'conflict'}
emits  at most one event, and a wake-up with it
]]
local now = store_clock(ARGV[1])
local found = redis.call('HMGET', KEYS[1], ':version', ':' .. ARGV[3])
if (found[1] or '0') ~= ARGV[4] or (found[2] and ARGV[6] == '') then return { 'conflict' } end

-- Money that was taken is recorded however full the quota is. Only what the record grows by is charged anew.
local ledger = open_ledger(KEYS[4], now, now + tonumber(ARGV[7]))
local growth = weight(ARGV, 5, 5) - (found[2] and math.ceil(#found[2] * 1.25) or -COST.payment)
if growth > 0 then charge(ledger, now + tonumber(ARGV[7]), growth) end

local paid_at = ARGV[6] ~= '' and ARGV[6] or whole(now)
redis.call('HSET', KEYS[1], ':' .. ARGV[3], paid_at .. ' ' .. ARGV[5])
redis.call('HINCRBY', KEYS[1], ':version', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[7])
if growth > 0 then close_ledger(ledger) end
if ARGV[8] ~= '' then
  -- An earlier check stays: an MCP server must not delay the refunds of operators.
  redis.call('ZADD', KEYS[2], 'LT', whole(now + tonumber(ARGV[8])), ARGV[2])
elseif not awaits_refund(redis.call('HGETALL', KEYS[1])) then
  redis.call('ZREM', KEYS[2], ARGV[2])
end

if ARGV[9] == '' then return { 'committed', '' } end
local event = redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[12], '*', 'elicitationId', ARGV[2], 'version', ARGV[10],
  'status', ARGV[9], 'mcpServerId', ARGV[11], 'kind', 'payment')
redis.call('PUBLISH', ARGV[13], ARGV[2])
return { 'committed', event }
