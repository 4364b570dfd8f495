--[[
Reads the feed of an MCP server after a position, or from the oldest event kept. Does not return events past their retention,
even if they are not dropped yet.

returns {'events', {id, fields}, ...}
        {'gone'}                 an event after the position is no longer kept, or the feed never reached that position
emits  nothing
]]
local oldest = whole(math.max(now - tonumber(args.retention_ms), 1)) .. '-0'

local start = oldest
if args.after ~= '' then
  local known = redis.call('HMGET', keys.feed_facts, 'last', 'dropped')
  local last, dropped = known[1] or '0-0', known[2]
  if is_before(last, args.after) then return { 'gone' } end
  if redis.call('EXISTS', keys.feed) == 0 then dropped = last end
  if dropped and is_before(args.after, dropped) then return { 'gone' } end
  if not is_before(args.after, oldest) then
    start = '(' .. args.after
  elseif redis.call('XRANGE', keys.feed, '(' .. args.after, '(' .. oldest, 'COUNT', '1')[1] then
    return { 'gone' }
  end
end
return { 'events', unpack(redis.call('XRANGE', keys.feed, start, '+', 'COUNT', args.limit)) }
