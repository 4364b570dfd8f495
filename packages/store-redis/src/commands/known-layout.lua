-- Prepended to the scripts that take or replace a record without an earlier read: they leave a record of another layout
-- unchanged. Text from outside cannot match, because its quotes would be escaped.
local function is_known(record)
  return string.match(record, '"layout":(%d+)') == '1'
end
