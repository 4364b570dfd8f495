--[[
Reads the feed of an MCP server after a position, or from the oldest event kept. Does not return events past their retention,
even if they are not dropped yet.

KEYS   1 feed   2 state of the feed
ARGV   1 clock   2 position, or ''   3 maximum number of events   4 event retention in ms
returns {'events', {id, fields}, ...}
        {'gone'}                 an event after the position is no longer kept, or the feed never reached that position
emits  nothing
]]
local now = store_clock(ARGV[1])
local oldest = whole(math.max(now - tonumber(ARGV[4]), 1)) .. '-0'

local start = oldest
if ARGV[2] ~= '' then
  local known = redis.call('HMGET', KEYS[2], 'last', 'dropped')
  local last, dropped = known[1] or '0-0', known[2]
  if is_before(last, ARGV[2]) then return { 'gone' } end
  if redis.call('EXISTS', KEYS[1]) == 0 then dropped = last end
  if dropped and is_before(ARGV[2], dropped) then return { 'gone' } end
  if not is_before(ARGV[2], oldest) then
    start = '(' .. ARGV[2]
  elseif redis.call('XRANGE', KEYS[1], '(' .. ARGV[2], '(' .. oldest, 'COUNT', '1')[1] then
    return { 'gone' }
  end
end
return { 'events', unpack(redis.call('XRANGE', KEYS[1], start, '+', 'COUNT', ARGV[3])) }
