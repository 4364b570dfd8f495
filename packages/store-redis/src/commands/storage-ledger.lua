-- Prepended to the scripts that store records for an MCP server. Its ledger in a shard has `<records> <bytes>` for each hour at
-- whose beginning keys have expired; their total in `sum`, after the hour up to which past entries were dropped; and in `share`
-- the limit of the shard. An open ledger is a copy: a script reads everything before it writes, and `close_ledger` writes.
local HOUR = 3600000
-- The hour of records that stay until they are removed: later than every expiry.
local LASTING = '240000000'
local LASTING_MS = tonumber(LASTING) * HOUR
-- Expiries beyond this share a day, so that a ledger has few hours.
local EXACT_HOURS = 72
-- Bytes of a record in addition to its texts: its key, fields and index entries. Texts need up to a quarter more than their
-- length.
local COST = { elicitation = 1280, reserve = 2048, reserve_payment = 4096, answer = 1024, one_time = 512, payment = 512,
  idempotency = 256, browser_session = 768, passkeys = 1024, passkey = 512 }

-- Minimum lifetime of the rest of a taken one-time record.
local SPENT_MS = 600000

local function weight(texts)
  local bytes = 0
  for at = 1, #texts do bytes = bytes + #texts[at] end
  return math.ceil(bytes * 1.25)
end

local function hour_after(now, ends)
  local hour = math.ceil(ends / HOUR)
  if hour > now / HOUR + EXACT_HOURS then hour = math.ceil(hour / 24) * 24 end
  return whole(hour)
end

local function entry_in(value)
  local records, bytes = string.match(value or '', '^(%d+) (%d+)$')
  return { records = tonumber(records or '0'), bytes = tonumber(bytes or '0'), is_new = not records }
end

-- `ends` names the hour that will be charged, so that it is read as well.
local function open_ledger(key, now, ends)
  local charged_hour = hour_after(now, ends)
  local found = redis.call('HMGET', key, 'sum', 'share', charged_hour, LASTING)
  local swept, records, bytes = string.match(found[1] or '0 0 0', '^(%d+) (%d+) (%d+)$')
  local ledger = { key = key, now = now, hour = math.floor(now / HOUR), records = tonumber(records), bytes = tonumber(bytes),
    share = found[2], is_new = not found[1], past = {},
    entries = { [LASTING] = entry_in(found[4]), [charged_hour] = entry_in(found[3]) } }
  ledger.lasting = ledger.entries[LASTING]
  if tonumber(swept) >= ledger.hour then return ledger end
  ledger.records, ledger.bytes = 0, 0
  local fields = redis.call('HGETALL', key)
  for at = 1, #fields, 2 do
    local hour = tonumber(fields[at])
    if hour and hour <= ledger.hour then
      table.insert(ledger.past, fields[at])
    elseif hour then
      local r, b = string.match(fields[at + 1], '^(%d+) (%d+)$')
      ledger.records, ledger.bytes = ledger.records + tonumber(r), ledger.bytes + tonumber(b)
    end
  end
  return ledger
end

local function add(ledger, hour, records, bytes)
  local entry = ledger.entries[hour]
  if not entry then
    entry = entry_in(redis.call('HGET', ledger.key, hour))
    ledger.entries[hour] = entry
  end
  -- Another node, whose clock is ahead, may have dropped this hour already.
  if entry.is_new and records < 0 then return end
  entry.is_changed = true
  entry.records, entry.bytes = math.max(entry.records + records, 0), math.max(entry.bytes + bytes, 0)
  ledger.records, ledger.bytes = math.max(ledger.records + records, 0), math.max(ledger.bytes + bytes, 0)
end

-- Counts one record until its key expires. Returns its charge, `<hour> <bytes>`, for the field `q` of a record that may move.
local function charge(ledger, ends, bytes)
  local hour = hour_after(ledger.now, ends)
  add(ledger, hour, 1, bytes)
  return hour .. ' ' .. whole(bytes)
end

-- Reverses the charge of a record. Does nothing if the record has no charge, or if its hour is past.
local function discharge(ledger, charged)
  local hour, bytes = string.match(charged or '', '^(%d+) (%d+)$')
  if hour and tonumber(hour) > ledger.hour then add(ledger, hour, -1, -tonumber(bytes)) end
end

local function bytes_of(charged)
  return tonumber(string.match(charged or '', ' (%d+)$') or '0')
end

-- Checks a part of the share, in eighths: new requests leave the rest to the users' answers.
-- @param entry what is checked, if not all records of the ledger
local function is_within(ledger, eighths, entry)
  local counted = entry or ledger
  local records, bytes = string.match(ledger.share or '', '^(%d+) (%d+)$')
  return not records
    or (counted.records <= tonumber(records) * eighths / 8 and counted.bytes <= tonumber(bytes) * eighths / 8)
end

-- Eighths of the share that lasting records may use when one is added, and when one is replaced by a larger one. Their place does not
-- become free by itself: the rest stays for elicitations, so users can always replace and remove what they have.
local MOST_ADDED, MOST_REPLACED = 4, 6

-- Returns the time until the next counted record expires.
local function retry_after(ledger)
  local first
  local fields = redis.call('HGETALL', ledger.key)
  for at = 1, #fields, 2 do
    local hour = tonumber(fields[at])
    if hour and hour > ledger.hour and hour < tonumber(LASTING) and (not first or hour < first) then first = hour end
  end
  return whole((first or ledger.hour + 1) * HOUR - ledger.now)
end

local function close_ledger(ledger)
  local fields = { 'sum', whole(ledger.hour) .. ' ' .. whole(ledger.records) .. ' ' .. whole(ledger.bytes) }
  if ledger.share then
    table.insert(fields, 'share')
    table.insert(fields, ledger.share)
  end
  local last
  for hour, entry in pairs(ledger.entries) do
    if entry.is_changed then
      table.insert(fields, hour)
      table.insert(fields, whole(entry.records) .. ' ' .. whole(entry.bytes))
      if entry.is_new and (not last or tonumber(hour) > last) then last = tonumber(hour) end
    end
  end
  redis.call('HSET', ledger.key, unpack(fields))
  if #ledger.past > 0 then redis.call('HDEL', ledger.key, unpack(ledger.past)) end
  if ledger.is_new then
    redis.call('PEXPIRE', ledger.key, whole((last or ledger.hour + 1) * HOUR - ledger.now))
  elseif last then
    redis.call('PEXPIRE', ledger.key, whole(last * HOUR - ledger.now), 'GT')
  end
end
