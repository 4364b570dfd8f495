--[[
Records that a self-contained one-time value was used. The list of used values has a maximum: beyond it, the script forgets the one that
expires first, and refuses every value that expires as early (`floor`), so that none is accepted twice.

KEYS   1 used values of one kind
ARGV   1 clock   2 name of the value   3 its expiry   4 maximum number of values   5 ms to remember a value after its expiry
returns {'taken'} or {'spent'}
emits  nothing
]]
local now = store_clock(ARGV[1])
local expires, grace = tonumber(ARGV[3]), tonumber(ARGV[5])

local floor = redis.call('ZSCORE', KEYS[1], 'floor')
if redis.call('ZSCORE', KEYS[1], ARGV[2]) or (floor and expires <= tonumber(floor)) then return { 'spent' } end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now - grace))
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
if redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[4]) then
  local first = redis.call('ZRANGE', KEYS[1], 0, 1, 'WITHSCORES')
  local at = first[1] == 'floor' and 3 or 1
  redis.call('ZREM', KEYS[1], first[at])
  redis.call('ZADD', KEYS[1], first[at + 1], 'floor')
end
redis.call('PEXPIRE', KEYS[1], whole(math.max(redis.call('PTTL', KEYS[1]), expires - now + grace)))
return { 'taken' }
