--[[
Stores the response of a request that created nothing, unless its idempotency key has a record.

returns {'stored'}, {'exists'} or {'over_quota', retry after ms}
emits  nothing
]]
if answer_under(keys.idempotency, args.fingerprint, now) then return { 'exists' } end

local kept_until = now + tonumber(args.retention_ms)
local ledger = open_ledger(keys.ledger, now, kept_until)
ledger.share = args.share
local record = answer_record(ledger, args.fingerprint, kept_until, args.response)
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end

redis.call('SET', keys.idempotency, record, 'PX', args.retention_ms)
close_ledger(ledger)
return { 'stored' }
