--[[
Reads the epoch of a shard, and whether a committed event is still in its outbox. Redis drops old entries from the front, so
an event missing after an older entry was lost. If no older entry is left, the event was lost if the outbox is too short for
any entry to have been dropped.

KEYS   1 epoch   2 outbox
ARGV   1 id of an event, or ''   2 number of carried entries kept
returns {epoch or '', 'kept'}
        {epoch or '', 'lost', id of the newest event before it or ''}
emits  nothing
]]
local epoch = redis.call('GET', KEYS[1]) or ''
if ARGV[1] == '' then return { epoch, 'kept' } end
local newest = redis.call('XREVRANGE', KEYS[2], ARGV[1], '-', 'COUNT', '1')[1]
if newest then
  if newest[1] == ARGV[1] then return { epoch, 'kept' } end
  return { epoch, 'lost', newest[1] }
end
if redis.call('XLEN', KEYS[2]) < tonumber(ARGV[2]) then return { epoch, 'lost', '' } end
return { epoch, 'kept' }
