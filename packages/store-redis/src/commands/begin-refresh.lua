--[[
Takes the lease to refresh one token set. Only one of several callers gets it; the holder may take it again.

KEYS   1 connection
ARGV   1 clock   2 createdAt and   3 generation decided on   4 holder   5 lease in ms
returns {'begun', failures before, <connection>}    <connection>: generation, createdAt, updatedAt, record, lost, lastUse
        {'held', retry after ms}
        {'postponed', retry after ms}
        {'superseded', <connection>}
        {'missing'}
emits  nothing
]]
local now = store_clock(ARGV[1])

local found = redis.call('HMGET', KEYS[1], 'generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse', 'lease',
  'backOff')
if found[2] ~= ARGV[2] then return { 'missing' } end
if found[1] ~= ARGV[3] or found[5] then return { 'superseded', unpack(found, 1, 6) } end

local lease_ends, holder = string.match(found[7] or '', '^(%d+) (.*)$')
if lease_ends and holder ~= ARGV[4] and tonumber(lease_ends) > now then
  return { 'held', whole(tonumber(lease_ends) - now) }
end
local back_off_ends, failures = string.match(found[8] or '', '^(%d+) (%d+)$')
if back_off_ends and tonumber(back_off_ends) > now then
  return { 'postponed', whole(tonumber(back_off_ends) - now) }
end

redis.call('HSET', KEYS[1], 'lease', whole(now + tonumber(ARGV[5])) .. ' ' .. ARGV[4])
return { 'begun', failures or '0', unpack(found, 1, 6) }
