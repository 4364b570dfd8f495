--[[
Reserves an idempotency key, or answers what became of it. A reservation whose lease is over (its holder died) is handed
on as it is, so that the next attempt meets what the earlier one may have made. A repeat by the holder goes on. A reservation is
charged for the longest answer that may follow.

KEYS   1 idempotency record   2 ledger of the MCP server
ARGV   1 clock   2 fingerprint   3 reservation   4 lease ms   5 retention ms
       6 '<records> <bytes>' that the shard may keep for the MCP server
returns {'begun', reservation}, {'replay', response}, {'mismatch'}, {'in_flight', retry after ms} or {'over_quota', retry after ms}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'reservation', 'leaseUntil', 'response', 'keepUntil')
if found[1] and now < tonumber(found[5]) then
  if found[1] ~= ARGV[2] then return { 'mismatch' } end
  if found[4] then return { 'replay', found[4] } end
  local lease = tonumber(found[3])
  if now < lease and found[2] ~= ARGV[3] then return { 'in_flight', whole(lease - now) } end
  redis.call('HSET', KEYS[1], 'leaseUntil', whole(now + tonumber(ARGV[4])))
  return { 'begun', found[2] }
end

local kept_until = now + tonumber(ARGV[5])
local ledger = open_ledger(KEYS[2], now, kept_until)
ledger.share = ARGV[6]
local charged = charge(ledger, kept_until, COST.reservation)
if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end

redis.call('HSET', KEYS[1], 'fingerprint', ARGV[2], 'reservation', ARGV[3], 'q', charged,
  'leaseUntil', whole(now + tonumber(ARGV[4])), 'keepUntil', whole(kept_until))
close_ledger(ledger)
redis.call('HDEL', KEYS[1], 'response')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'begun', ARGV[3] }
