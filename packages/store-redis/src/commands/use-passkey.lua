--[[
Records a use of a passkey, if its counter has grown or its authenticator has none (WebAuthn 7.2 step 22). Repeating the call
changes nothing and succeeds again.

KEYS   1 passkeys of the subject
ARGV   1 clock   2 passkey id   3 signature counter   4 '1' when backed up, else '0'   5 name of this call
returns {'used'}, {'stale'} or {'unknown'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local stored = redis.call('HGET', KEYS[1], ARGV[2])
if not stored then return { 'unknown' } end
local count, created, by, record = string.match(stored, '^(%d+) [01] (%d+) %d+ (%S+) (.*)$')
if by == ARGV[5] then return { 'used' } end
local before, after = tonumber(count), tonumber(ARGV[3])
if (before > 0 or after > 0) and after <= before then return { 'stale' } end

redis.call('HSET', KEYS[1], ARGV[2],
  ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. created .. ' ' .. whole(now) .. ' ' .. ARGV[5] .. ' ' .. record)
return { 'used' }
