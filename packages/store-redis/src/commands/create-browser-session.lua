--[[
Creates a browser session, and lists it for its user. Of more sessions than the maximum, the newest stay: one that is not listed has ended.
Sessions that an application vouched for count apart, because it could otherwise end all others, and against the quota of its MCP
server, because it says who its users are.

KEYS   1 browser session   2 browser sessions of its subject   3 ledger of the MCP server whose application vouched for the user
ARGV   1 clock   2 record   3 idle ms   4 absolute ms   5 name of the session in the list   6 maximum number of sessions
       7 MCP server whose application vouched for the user, or ''   8 '<records> <bytes>' that the shard may keep for it, or ''
returns {'created', createdAt, endsAt, name of an ended session, …} or {'over_quota', retry after ms}
emits  nothing
]]
local now = store_clock(ARGV[1])

local idle, absolute = tonumber(ARGV[3]), tonumber(ARGV[4])
local left = math.min(idle, absolute)

-- The other fields are times up to which sessions were ended, which are single numbers.
local listed, dropped, charges = {}, {}, {}
local fields = redis.call('HGETALL', KEYS[2])
for at = 1, #fields, 2 do
  local created, ends, voucher, charged = string.match(fields[at + 1], '^(%d+) (%d+) ?(%S*) ?(.*)$')
  if ends and fields[at] == ARGV[5] then
    table.insert(charges, charged)
  elseif ends and tonumber(ends) <= now then
    table.insert(dropped, fields[at])
  elseif ends and voucher == ARGV[7] then
    table.insert(listed, { name = fields[at], created = tonumber(created), charged = charged })
  end
end
table.sort(listed, function(a, b) return a.created > b.created end)
for at = tonumber(ARGV[6]), #listed do
  table.insert(dropped, listed[at].name)
  table.insert(charges, listed[at].charged)
end

local entry = whole(now) .. ' ' .. whole(now + absolute)
if ARGV[7] ~= '' then
  local ledger = open_ledger(KEYS[3], now, now + absolute)
  ledger.share = ARGV[8]
  for at = 1, #charges do discharge(ledger, charges[at]) end
  local charged = charge(ledger, now + absolute, COST.browser_session + weight(ARGV, 2, 2))
  if not is_within(ledger, 8) then return { 'over_quota', retry_after(ledger) } end
  close_ledger(ledger)
  entry = entry .. ' ' .. ARGV[7] .. ' ' .. charged
end

redis.call('HSET', KEYS[1], 'record', ARGV[2], 'createdAt', whole(now), 'endsAt', whole(now + absolute),
  'idleMs', ARGV[3], 'idleUntil', whole(now + left))
redis.call('PEXPIRE', KEYS[1], whole(left))
redis.call('HSET', KEYS[2], ARGV[5], entry)
if #dropped > 0 then redis.call('HDEL', KEYS[2], unpack(dropped)) end
redis.call('PEXPIRE', KEYS[2], whole(math.max(redis.call('PTTL', KEYS[2]), absolute)))
return { 'created', whole(now), whole(now + absolute), unpack(dropped) }
