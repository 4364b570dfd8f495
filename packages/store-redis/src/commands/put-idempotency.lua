--[[
Stores the response of a request that created nothing, unless its idempotency key has a record.

KEYS   1 idempotency record   2 ledger of the MCP server
ARGV   1 clock   2 fingerprint   3 response   4 retention ms
       5 '<records> <bytes>' that the shard may keep for the MCP server
returns {'stored'}, {'exists'} or {'over_quota', retry after ms}
emits  nothing
]]
local now = store_clock(ARGV[1])

if answer_under(KEYS[1], ARGV[2], now) then return { 'exists' } end

local kept_until = now + tonumber(ARGV[4])
local ledger = open_ledger(KEYS[2], now, kept_until)
ledger.share = ARGV[5]
local record = answer_record(ledger, ARGV[2], kept_until, ARGV[3])
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end

redis.call('SET', KEYS[1], record, 'PX', ARGV[4])
close_ledger(ledger)
return { 'stored' }
