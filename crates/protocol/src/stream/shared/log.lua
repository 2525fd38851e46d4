-- The log of a partition: appends with the server's time, and fields of entries.
-- Cost O(1).

local function text(number)
  return string.format('%d', number)
end

local function log_of(tag)
  return { tag = tag, log = tag .. ':log', now = now_ms(tag) }
end

-- The value after a name in a flat reply.
local function value(reply, name)
  for at = 1, #reply, 2 do
    if reply[at] == name then return reply[at + 1] end
  end
end

-- A reply takes no further entry once its keys and records have this many bytes. The size of an entry is known only once it is read, so
-- entries are read in parts of a few.
local BYTES_MAX, PART = 4194304, 8

-- Appends under the server's time; under the time of the last entry, if the clock was set back.
local function add(s, stream, ...)
  local id = redis.pcall('XADD', stream, text(s.now) .. '-*', ...)
  if type(id) ~= 'table' then return id end
  if not string.find(id.err, 'equal or smaller', 1, true) then error(id) end
  local last = value(redis.call('XINFO', 'STREAM', stream), 'last-generated-id')
  return redis.call('XADD', stream, string.match(last, '^%d+') .. '-*', ...)
end

-- The fields of the entry with this id; nil if the log has none.
local function entry(stream, id)
  local found = redis.call('XRANGE', stream, id, id)[1]
  return found and found[2]
end
