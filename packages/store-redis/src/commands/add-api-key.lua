--[[
Stores an API key and lists it. Repeating it changes nothing.

KEYS   1 API key   2 list of API keys
ARGV   1 clock   2 id   3 new version of the list   4 description   5 record with the sealed digest   6 maximum number of valid API keys
       7 maximum number of revoked ones that stay listed
returns {'added'}, {'exists'} or {'full'}
emits  nothing
]]
local now = store_clock(ARGV[1])

if redis.call('HGET', KEYS[1], 'record') == ARGV[5] then return { 'added' } end
if redis.call('EXISTS', KEYS[1]) == 1 then return { 'exists' } end
if tidy(KEYS[2], now, ARGV[7]) >= tonumber(ARGV[6]) then return { 'full' } end

redis.call('HSET', KEYS[1], 'about', ARGV[4], 'record', ARGV[5], 'createdAt', whole(now))
redis.call('HSET', KEYS[2], ARGV[2], 'valid', 'version', ARGV[3])
return { 'added' }
