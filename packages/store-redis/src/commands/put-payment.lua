--[[
Commits a change of a payment that was decided on a known version of the payments of its elicitation, with its event, and
schedules the check of its refunds, or cancels it if no refund of the elicitation is pending. A payment that was never
stored is added with the time of this commit.

returns {'committed', id of the event or ''}
        {'conflict'}
emits  at most one event, and a wake-up with it
]]
local found = redis.call('HMGET', keys.payments, ':version', ':' .. args.payment_name)
if (found[1] or '0') ~= args.version or (found[2] and args.paid_at == '') then return { 'conflict' } end

-- Money that was taken is recorded however full the quota is. Only what the record grows by is charged anew.
local ledger = open_ledger(keys.ledger, now, now + tonumber(args.retention_ms))
local growth = weight({ args.record }) - (found[2] and math.ceil(#found[2] * 1.25) or -COST.payment)
if growth > 0 then charge(ledger, now + tonumber(args.retention_ms), growth) end

local paid_at = args.paid_at ~= '' and args.paid_at or whole(now)
redis.call('HSET', keys.payments, ':' .. args.payment_name, paid_at .. ' ' .. args.record)
redis.call('HINCRBY', keys.payments, ':version', '1')
redis.call('PEXPIRE', keys.payments, args.retention_ms)
if growth > 0 then close_ledger(ledger) end
if args.check_after_ms ~= '' then
  -- An earlier check stays: an MCP server must not delay the refunds of operators.
  redis.call('ZADD', keys.refund_checks, 'LT', whole(now + tonumber(args.check_after_ms)), args.elicitation_id)
elseif not awaits_refund(redis.call('HGETALL', keys.payments)) then
  redis.call('ZREM', keys.refund_checks, args.elicitation_id)
end

if args.event_type == '' then return { 'committed', '' } end
local event = redis.call('XADD', keys.events, 'MAXLEN', '~', args.events_kept, '*', 'elicitationId', args.elicitation_id,
  'version', args.event_version, 'status', args.event_type, 'mcpServerId', args.mcp_server_id, 'kind', 'payment')
redis.call('PUBLISH', args.wake_up_channel, args.elicitation_id)
return { 'committed', event }
