--[[
Notes when a gateway first had each of these keys in its configuration. The first call of a deployment cannot know how old they are, so it
marks them as possibly older. Later calls change nothing about a key that is noted.

returns {'noted'}
emits  nothing
]]
local time = whole(now)
local value = redis.call('HSETNX', keys.key_ages, 'began', time) == 1 and time .. ' or earlier' or time
for _, name in ipairs(args.names) do redis.call('HSETNX', keys.key_ages, 'key ' .. name, value) end
return { 'noted' }
