--[[
Adds to the feed of an MCP server what it does not have yet. How far each shard has been carried is kept beside the feed, in the
same slot, so whatever is carried again is known by its position and skipped. Then drops what is too old or too many, and
remembers the newest of what was ever dropped.

KEYS   1 feed   2 what is known of the feed
ARGV   1 clock   2 events kept   3 ms for which they are kept   4 ms for which the feed is known   5 wake-up channel   6 wake-up
       then for each event: shard, position in its outbox, elicitation id, version, status, kind, when it was committed
returns {how many were added}
emits  one wake-up when any was added
]]
local now = store_clock(ARGV[1])
local kept = tonumber(ARGV[2])

local known = redis.call('HMGET', KEYS[2], 'last', 'dropped')
local time, count = parts(known[1] or '0-0')
local carried, added = {}, 0
for at = 7, #ARGV, 7 do
  local shard, position = ARGV[at], ARGV[at + 1]
  carried[shard] = carried[shard] or redis.call('HGET', KEYS[2], shard) or '0-0'
  if is_before(carried[shard], position) then
    -- Always after the last one, also when the clock was put back or the feed itself has expired since.
    if now > time then time, count = now, 0 else count = count + 1 end
    redis.call('XADD', KEYS[1], whole(time) .. '-' .. whole(count), 'elicitationId', ARGV[at + 2], 'version', ARGV[at + 3],
      'status', ARGV[at + 4], 'kind', ARGV[at + 5], 'occurredAt', ARGV[at + 6])
    carried[shard] = position
    redis.call('HSET', KEYS[2], shard, position, 'last', whole(time) .. '-' .. whole(count))
    added = added + 1
  end
end
if added == 0 then return { 0 } end

local drop = redis.call('XREVRANGE', KEYS[1], '(' .. whole(math.max(now - tonumber(ARGV[3]), 1)) .. '-0', '-', 'COUNT', '1')
local excess = redis.call('XLEN', KEYS[1]) - kept
-- A few at a time, because finding the last of them means reading them.
if excess > 0 and excess * 50 >= kept then
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', whole(excess))
  if not drop[1] or is_before(drop[1][1], first[excess][1]) then drop = { first[excess] } end
end
if drop[1] then
  local drop_time, drop_count = parts(drop[1][1])
  redis.call('XTRIM', KEYS[1], 'MINID', '=', whole(drop_time) .. '-' .. whole(drop_count + 1))
  redis.call('HSET', KEYS[2], 'dropped', drop[1][1])
end

redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PUBLISH', ARGV[5], ARGV[6])
return { added }
