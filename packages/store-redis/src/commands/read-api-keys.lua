--[[
Reads the list of API keys, unless the caller knows its version.

returns {'unchanged'}, or {'list', version, id, …}; the version is '' if there is no list
emits  nothing
]]
local version = redis.call('HGET', keys.api_keys, 'version') or ''
if version == args.known_version and args.known_version ~= '' then return { 'unchanged' } end

local answer = { 'list', version }
local fields = redis.call('HGETALL', keys.api_keys)
for at = 1, #fields, 2 do
  if fields[at] ~= 'version' then table.insert(answer, fields[at]) end
end
return answer
