--[[
Reads the list of API keys, unless the caller knows its version.

KEYS   1 list of API keys
ARGV   1 known version, or '' for none
returns {'unchanged'}, or {'list', version, id, …}; the version is '' if there is no list
emits  nothing
]]
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version == ARGV[1] and ARGV[1] ~= '' then return { 'unchanged' } end

local answer = { 'list', version }
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  if fields[at] ~= 'version' then table.insert(answer, fields[at]) end
end
return answer
