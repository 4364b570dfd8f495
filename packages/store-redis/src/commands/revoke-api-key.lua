--[[
Revokes an API key and deletes its sealed digest. With a description, it may be a key of the configuration, which is stored only as
revoked. The first revocation stays.

KEYS   1 API key   2 list of API keys
ARGV   1 clock   2 id   3 new version of the list   4 description of a key of the configuration, or ''   5 who and why
       6 ms for which a revoked key of the store stays listed   7 maximum number of those
returns {'revoked'}, {'already'} or {'unknown'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'about', 'revoked')
if found[2] then
  local change = string.match(found[2], '^%d+ (.*)$')
  return { change == ARGV[5] and 'revoked' or 'already' }
end
if not found[1] then
  if ARGV[4] == '' then return { 'unknown' } end
  redis.call('HSET', KEYS[1], 'about', ARGV[4], 'createdAt', whole(now))
end

redis.call('HDEL', KEYS[1], 'record')
redis.call('HSET', KEYS[1], 'revoked', whole(now) .. ' ' .. ARGV[5])
local status = 'revoked'
if ARGV[4] == '' then
  status = 'revoked ' .. whole(now + tonumber(ARGV[6]))
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
end
redis.call('HSET', KEYS[2], ARGV[2], status, 'version', ARGV[3])
tidy(KEYS[2], now, ARGV[7])
return { 'revoked' }
