--[[
Marks one token set, and no newer one, as lost. If it is already marked, nothing changes.

returns {'stored' | 'superseded', <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'missing'}
emits  one wake-up if this call marked it
]]
local found = redis.call('HMGET', keys.connection, 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse')
if found[2] ~= args.created_at then return { 'missing' } end
if found[1] ~= args.generation then return { 'superseded', unpack(found, 1, 6) } end
if found[5] then return { 'stored', unpack(found, 1, 6) } end

found[5] = whole(now) .. ' ' .. args.reason
redis.call('HSET', keys.connection, 'lost', found[5])
redis.call('HDEL', keys.connection, 'lease', 'backOff', 'refusals', 'unfinished')
redis.call('PUBLISH', args.wake_up_channel, args.connection_id)
return { 'stored', unpack(found, 1, 6) }
