--[[
Adds to the feed of an MCP server the events that it does not have yet. The carried position of each shard is stored next to
the feed, in the same slot, so the script recognizes repeated events by their position and skips them. Counts each added event
once, in the same commit. Then drops events that are too old or too many, and records the newest position ever dropped.

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
local function count_step(event)
  local step = ENDED[event.status] and event.status
  if event.version == '1' then step = 'issued' end
  if event.version == '2' and not step then step = 'opened' end
  if not step then return end
  local of = string.format('%02d ', math.floor(tonumber(event.occurred_at) / HOUR) % 24)
  redis.call('HINCRBY', keys.counts, of .. step .. ' ' .. event.kind .. ' ' .. event.provider, '1')
  if DECIDED[event.status] and event.took_ms ~= '' then
    local within = 1
    while within * 1000 < tonumber(event.took_ms) and within < LONGEST_S do within = within * 2 end
    redis.call('HINCRBY', keys.counts, of .. 'within ' .. event.kind .. ' ' .. whole(within), '1')
  end
end

local kept = tonumber(args.events_kept)

local known = redis.call('HMGET', keys.feed_facts, 'last', 'dropped')
local time, count = parts(known[1] or '0-0')
local carried, added = {}, 0
for _, event in ipairs(args.events) do
  local shard, position = event.shard, event.position
  carried[shard] = carried[shard] or redis.call('HGET', keys.feed_facts, shard) or '0-0'
  if is_before(carried[shard], position) then
    -- Always after the last entry, even if the clock went back or the feed itself has expired since.
    if now > time then time, count = now, 0 else count = count + 1 end
    redis.call('XADD', keys.feed, whole(time) .. '-' .. whole(count), 'elicitationId', event.elicitation_id,
      'version', event.version, 'status', event.status, 'kind', event.kind, 'occurredAt', event.occurred_at)
    carried[shard] = position
    redis.call('HSET', keys.feed_facts, shard, position, 'last', whole(time) .. '-' .. whole(count))
    added = added + 1
    count_step(event)
  end
end
if added == 0 then return { 0 } end

local drop = redis.call('XREVRANGE', keys.feed, '(' .. whole(math.max(now - tonumber(args.retention_ms), 1)) .. '-0', '-', 'COUNT', '1')
local excess = redis.call('XLEN', keys.feed) - kept
-- A few at a time, because finding the last one means reading them.
if excess > 0 and excess * 50 >= kept then
  local first = redis.call('XRANGE', keys.feed, '-', '+', 'COUNT', whole(excess))
  if not drop[1] or is_before(drop[1][1], first[excess][1]) then drop = { first[excess] } end
end
if drop[1] then
  local drop_time, drop_count = parts(drop[1][1])
  redis.call('XTRIM', keys.feed, 'MINID', '=', whole(drop_time) .. '-' .. whole(drop_count + 1))
  redis.call('HSET', keys.feed_facts, 'dropped', drop[1][1])
end

redis.call('PEXPIRE', keys.feed, args.retention_ms)
redis.call('PEXPIRE', keys.feed_facts, args.facts_retention_ms)
if redis.call('EXISTS', keys.counts) == 1 then redis.call('PEXPIRE', keys.counts, args.count_retention_ms) end
redis.call('PUBLISH', args.wake_up_channel, args.wake_up)
return { added }
