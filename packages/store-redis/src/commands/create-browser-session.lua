--[[
Creates a browser session, and lists it for its user. The list is for display: of more than its maximum, it keeps the newest, and the
others stay valid. Sessions that an application vouched for count apart: it could otherwise push all others out of the list.

KEYS   1 browser session   2 browser sessions of its subject
ARGV   1 clock   2 record   3 idle ms   4 absolute ms   5 name of the session in the list   6 maximum number of listed sessions
       7 MCP server whose application vouched for the user, or ''
returns {createdAt, endsAt}
emits  nothing
]]
local now = store_clock(ARGV[1])

local idle, absolute = tonumber(ARGV[3]), tonumber(ARGV[4])
local left = math.min(idle, absolute)

-- The other fields are times up to which sessions were ended, which are single numbers.
local listed, dropped = {}, {}
local fields = redis.call('HGETALL', KEYS[2])
for at = 1, #fields, 2 do
  local created, ends, voucher = string.match(fields[at + 1], '^(%d+) (%d+) ?(.*)$')
  if ends and tonumber(ends) <= now then
    table.insert(dropped, fields[at])
  elseif ends and voucher == ARGV[7] and fields[at] ~= ARGV[5] then
    table.insert(listed, { name = fields[at], created = tonumber(created) })
  end
end
table.sort(listed, function(a, b) return a.created > b.created end)
for at = tonumber(ARGV[6]), #listed do table.insert(dropped, listed[at].name) end

redis.call('HSET', KEYS[1], 'record', ARGV[2], 'createdAt', whole(now), 'endsAt', whole(now + absolute),
  'idleMs', ARGV[3], 'idleUntil', whole(now + left))
redis.call('PEXPIRE', KEYS[1], whole(left))
redis.call('HSET', KEYS[2], ARGV[5], whole(now) .. ' ' .. whole(now + absolute) .. (ARGV[7] == '' and '' or ' ' .. ARGV[7]))
if #dropped > 0 then redis.call('HDEL', KEYS[2], unpack(dropped)) end
redis.call('PEXPIRE', KEYS[2], whole(math.max(redis.call('PTTL', KEYS[2]), absolute)))
return { whole(now), whole(now + absolute) }
