--[[
Adds refreshes at one provider to the counts of a day. Each writer sends one batch after another, so repeating the last one changes
nothing.

returns {'counted' | 'repeated'}
emits  nothing
]]
local writer = 'by ' .. args.writer
if redis.call('HGET', keys.refreshes, writer) == args.operation_id then return { 'repeated' } end
for _, counted in ipairs(args.counts) do redis.call('HINCRBY', keys.refreshes, counted.field, counted.count) end
redis.call('HSET', keys.refreshes, writer, args.operation_id)
redis.call('PEXPIRE', keys.refreshes, args.retention_ms)
return { 'counted' }
