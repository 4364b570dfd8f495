--[[
Notes when a gateway first had each of these keys in its configuration. The first call of a deployment cannot know how old they are, so it
marks them as possibly older. Later calls change nothing about a key that is noted.

KEYS   1 ages of keys
ARGV   1 clock   then names of keys
returns {'noted'}
emits  nothing
]]
local now = whole(store_clock(ARGV[1]))
local value = redis.call('HSETNX', KEYS[1], 'began', now) == 1 and now .. ' or earlier' or now
for at = 2, #ARGV do redis.call('HSETNX', KEYS[1], 'key ' .. ARGV[at], value) end
return { 'noted' }
