--[[
Revokes an API key and deletes its sealed digest. With a description, it may be a key of the configuration, which is stored only as
revoked. The first revocation stays.

returns {'revoked'}, {'already'} or {'unknown'}
emits  nothing
]]
local found = redis.call('HMGET', keys.api_key, 'about', 'revoked')
if found[2] then
  local change = string.match(found[2], '^%d+ (.*)$')
  return { change == args.change and 'revoked' or 'already' }
end
if not found[1] then
  if args.about == '' then return { 'unknown' } end
  redis.call('HSET', keys.api_key, 'about', args.about, 'createdAt', whole(now))
end

redis.call('HDEL', keys.api_key, 'record')
redis.call('HSET', keys.api_key, 'revoked', whole(now) .. ' ' .. args.change)
local status = 'revoked'
if args.about == '' then
  status = 'revoked ' .. whole(now + tonumber(args.listed_ms))
  redis.call('PEXPIRE', keys.api_key, args.listed_ms)
end
redis.call('HSET', keys.api_keys, args.api_key_id, status, 'version', args.list_version)
tidy(keys.api_keys, now, args.revoked_max)
return { 'revoked' }
