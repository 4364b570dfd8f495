--[[
Takes the lease to refresh one token set. Only one of several callers gets it; the holder may take it again. A lease that expired
without a result leaves a mark until the next token set: its holder may have spent the refresh token.

returns {'begun', failures before, '1' if an earlier lease expired without a result, otherwise '0', <connection>}
            <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'held', retry after ms, holder}
        {'postponed', retry after ms, refusals of the token set or ''}
        {'superseded', <connection>}
        {'missing'}
emits  nothing
]]
local found = redis.call('HMGET', keys.connection, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'lease',
  'backOff', 'refusals', 'unfinished')
if found[2] ~= args.created_at then return { 'missing' } end
if found[1] ~= args.generation or found[5] then return { 'superseded', unpack(found, 1, 6) } end

local lease_ends, holder = string.match(found[7] or '', '^(%d+) (.*)$')
local is_gone = args.gone_holder ~= '' and holder == args.gone_holder
if lease_ends and holder ~= args.holder and tonumber(lease_ends) > now and not is_gone then
  return { 'held', whole(tonumber(lease_ends) - now), holder }
end
local back_off_ends, failures = string.match(found[8] or '', '^(%d+) (%d+)$')
if back_off_ends and tonumber(back_off_ends) > now then
  return { 'postponed', whole(tonumber(back_off_ends) - now), refusals_of(found[9], found[1]) }
end

local unfinished = found[10] == found[1] and '1' or '0'
if lease_ends and holder ~= args.holder and tonumber(lease_ends) <= now then
  unfinished = '1'
  redis.call('HSET', keys.connection, 'unfinished', found[1])
end
redis.call('HSET', keys.connection, 'lease', whole(now + tonumber(args.lease_ms)) .. ' ' .. args.holder)
return { 'begun', failures or '0', unfinished, unpack(found, 1, 6) }
