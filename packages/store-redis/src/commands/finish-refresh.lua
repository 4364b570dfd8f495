--[[
Stores the next token set, even if another replica holds the lease by now, and clears lease, failures and loss. Repeating it
under its operation id changes nothing and succeeds again.

KEYS   1 connection   2 ledger of its owner
ARGV   1 clock   2 connection id   3 createdAt and   4 generation decided on   5 operation id   6 new record, or ''
       if that token set was already gone   7 wake-up channel
returns {'stored' | 'superseded', <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'missing'}
emits  one wake-up if this call stored it
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse',
  'refreshedBy', 'q')
if found[2] ~= ARGV[3] then return { 'missing' } end
if found[7] == ARGV[5] then return { 'stored', unpack(found, 1, 6) } end
if found[1] ~= ARGV[4] or ARGV[6] == '' then return { 'superseded', unpack(found, 1, 6) } end

local generation = whole(tonumber(found[1]) + 1)
redis.call('HSET', KEYS[1], 'generation', generation, 'updatedAt', whole(now), 'record', ARGV[6], 'refreshedBy', ARGV[5])
redis.call('HDEL', KEYS[1], 'lease', 'backOff', 'lost', 'refusals', 'unfinished')
-- Tokens are stored however full the quota is. Only larger ones move the charge.
local bytes = weight(ARGV, 6, 6) + COST.answer
if found[8] and bytes > bytes_of(found[8]) then
  local ledger = open_ledger(KEYS[2], now, LASTING_MS)
  discharge(ledger, found[8])
  redis.call('HSET', KEYS[1], 'q', charge(ledger, LASTING_MS, bytes))
  close_ledger(ledger)
end
redis.call('PUBLISH', ARGV[7], ARGV[2])
return { 'stored', generation, found[2], whole(now), ARGV[6], false, found[6] }
