--[[
Reads the epoch of a shard, and whether a committed event is still in its outbox. Redis drops old entries from the front, so
an event missing after an older entry was lost. If no older entry is left, the event was lost if the outbox is too short for
any entry to have been dropped.

returns {epoch or '', 'kept'}
        {epoch or '', 'lost', id of the newest event before it or ''}
emits  nothing
]]
local epoch = redis.call('GET', keys.epoch) or ''
if args.event_id == '' then return { epoch, 'kept' } end
local newest = redis.call('XREVRANGE', keys.events, args.event_id, '-', 'COUNT', '1')[1]
if newest then
  if newest[1] == args.event_id then return { epoch, 'kept' } end
  return { epoch, 'lost', newest[1] }
end
if redis.call('XLEN', keys.events) < tonumber(args.carried_kept) then return { epoch, 'lost', '' } end
return { epoch, 'kept' }
