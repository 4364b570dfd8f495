--[[
Creates a browser session, and lists it for its user. Of more sessions than the maximum, the newest stay: one that is not listed has ended.
Sessions that an application vouched for count apart, because it could otherwise end all others, and against the quota of its MCP
server, because it says who its users are.

returns {'created', createdAt, endsAt, name of an ended session, …} or {'over_quota', retry after ms}
emits  nothing
]]
local idle, absolute = tonumber(args.idle_ms), tonumber(args.absolute_ms)
local left = math.min(idle, absolute)

-- The other fields are times up to which sessions were ended, which are single numbers.
local listed, dropped, charges = {}, {}, {}
local fields = redis.call('HGETALL', keys.browser_sessions_of)
for at = 1, #fields, 2 do
  local created, ends, voucher, charged = string.match(fields[at + 1], '^(%d+) (%d+) ?(%S*) ?(.*)$')
  if ends and fields[at] == args.name then
    table.insert(charges, charged)
  elseif ends and tonumber(ends) <= now then
    table.insert(dropped, fields[at])
  elseif ends and voucher == args.voucher then
    table.insert(listed, { name = fields[at], created = tonumber(created), charged = charged })
  end
end
table.sort(listed, function(a, b) return a.created > b.created end)
for at = tonumber(args.max), #listed do
  table.insert(dropped, listed[at].name)
  table.insert(charges, listed[at].charged)
end

local entry = whole(now) .. ' ' .. whole(now + absolute)
if args.voucher ~= '' then
  local ledger = open_ledger(keys.ledger, now, now + absolute)
  ledger.share = args.share
  for at = 1, #charges do discharge(ledger, charges[at]) end
  local charged = charge(ledger, now + absolute, COST.browser_session + weight({ args.record }))
  if not is_within(ledger, 8) then return { 'over_quota', retry_after(ledger) } end
  close_ledger(ledger)
  entry = entry .. ' ' .. args.voucher .. ' ' .. charged
end

redis.call('HSET', keys.browser_session, 'record', args.record, 'createdAt', whole(now), 'endsAt', whole(now + absolute),
  'idleMs', args.idle_ms, 'idleUntil', whole(now + left))
redis.call('PEXPIRE', keys.browser_session, whole(left))
redis.call('HSET', keys.browser_sessions_of, args.name, entry)
if #dropped > 0 then redis.call('HDEL', keys.browser_sessions_of, unpack(dropped)) end
redis.call('PEXPIRE', keys.browser_sessions_of, whole(math.max(redis.call('PTTL', keys.browser_sessions_of), absolute)))
return { 'created', whole(now), whole(now + absolute), unpack(dropped) }
