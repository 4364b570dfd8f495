--[[
Reads the epoch of a shard, and whether an event that was committed there is still in its outbox. Old entries are dropped from
the front, so an event that is missing behind an older one was lost. Where no older one is left, it was lost if the outbox
is too short for anything to have been dropped.

KEYS   1 epoch   2 outbox
ARGV   1 id of an event, or ''   2 carried entries kept
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
