--[[
Stores an API key and lists it. Repeating it changes nothing.

returns {'added'}, {'exists'} or {'full'}
emits  nothing
]]
if redis.call('HGET', keys.api_key, 'record') == args.record then return { 'added' } end
if redis.call('EXISTS', keys.api_key) == 1 then return { 'exists' } end
if tidy(keys.api_keys, now, args.revoked_max) >= tonumber(args.valid_max) then return { 'full' } end

redis.call('HSET', keys.api_key, 'about', args.about, 'record', args.record, 'createdAt', whole(now))
redis.call('HSET', keys.api_keys, args.api_key_id, 'valid', 'version', args.list_version)
return { 'added' }
