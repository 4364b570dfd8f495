--[[
Adds to the feed of an MCP server the events that it does not have yet. The carried position of each shard is stored next to
the feed, in the same slot, so the script recognizes repeated events by their position and skips them. Counts each added event
once, in the same commit. Then drops events that are too old or too many, and records the newest position ever dropped.

KEYS   1 feed   2 state of the feed   3 counts of the day of these events
ARGV   1 clock   2 events kept   3 event retention in ms   4 retention of the feed's state in ms   5 wake-up channel   6 wake-up
       7 retention of the counts in ms
       then for each event: shard, position in its outbox, elicitation id, version, status, kind, commit time,
       provider or '', ms since the elicitation was issued or ''
returns {number of added events}
emits  one wake-up if an event was added
]]
local HOUR = 3600000
-- A decision that takes longer counts in the last class.
local LONGEST_S = 65536
local DECIDED = { completed = true, declined = true, failed = true }
local ENDED = { completed = true, declined = true, failed = true, cancelled = true, expired = true }

-- Counts the first time that an elicitation takes a step: issued, opened, and its end. For a decision, also its class of duration:
-- the next power of two, in seconds.
local function count_step(values, at)
  local version, status = values[at + 3], values[at + 4]
  local step = ENDED[status] and status
  if version == '1' then step = 'issued' end
  if version == '2' and not step then step = 'opened' end
  if not step then return end
  local of = string.format('%02d ', math.floor(tonumber(values[at + 6]) / HOUR) % 24)
  local kind, provider, took = values[at + 5], values[at + 7], values[at + 8]
  redis.call('HINCRBY', KEYS[3], of .. step .. ' ' .. kind .. ' ' .. provider, '1')
  if DECIDED[status] and took ~= '' then
    local within = 1
    while within * 1000 < tonumber(took) and within < LONGEST_S do within = within * 2 end
    redis.call('HINCRBY', KEYS[3], of .. 'within ' .. kind .. ' ' .. whole(within), '1')
  end
end

local now = store_clock(ARGV[1])
local kept = tonumber(ARGV[2])

local known = redis.call('HMGET', KEYS[2], 'last', 'dropped')
local time, count = parts(known[1] or '0-0')
local carried, added = {}, 0
for at = 8, #ARGV, 9 do
  local shard, position = ARGV[at], ARGV[at + 1]
  carried[shard] = carried[shard] or redis.call('HGET', KEYS[2], shard) or '0-0'
  if is_before(carried[shard], position) then
    -- Always after the last entry, even if the clock went back or the feed itself has expired since.
    if now > time then time, count = now, 0 else count = count + 1 end
    redis.call('XADD', KEYS[1], whole(time) .. '-' .. whole(count), 'elicitationId', ARGV[at + 2], 'version', ARGV[at + 3],
      'status', ARGV[at + 4], 'kind', ARGV[at + 5], 'occurredAt', ARGV[at + 6])
    carried[shard] = position
    redis.call('HSET', KEYS[2], shard, position, 'last', whole(time) .. '-' .. whole(count))
    added = added + 1
    count_step(ARGV, at)
  end
end
if added == 0 then return { 0 } end

local drop = redis.call('XREVRANGE', KEYS[1], '(' .. whole(math.max(now - tonumber(ARGV[3]), 1)) .. '-0', '-', 'COUNT', '1')
local excess = redis.call('XLEN', KEYS[1]) - kept
-- A few at a time, because finding the last one means reading them.
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
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('PEXPIRE', KEYS[3], ARGV[7]) end
redis.call('PUBLISH', ARGV[5], ARGV[6])
return { added }
