-- Appends entries, each once if its producer numbers them.
-- KEYS 1 partition    ARGV 1 ms for which a producer's last sequence is stored, 2 maximum number of entries (0: no limit),
--   then for each: producer (16 bytes, or nothing), sequence, previous sequence, key, record
-- Replies nothing: there is no such partition · for each {1, id} appended · {2, id or nothing} duplicate · {3, last sequence} out of order · {4} full
-- Cost O(log producers) an entry. A repeat finds the sequences that the first call stored.
if call('EXISTS', LOG) == 0 then return false end -- guard: stream_append_creates_nothing
local LAST, ACTIVE = tag .. ':producers', tag .. ':active'
local numbered, changed = {}, {}
local window, entries_max, replies, length = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, call('XLEN', LOG)
local function check()
  call('HLEN', LAST)
  call('ZCARD', ACTIVE)
end
check() -- guard: stream_types_checked

-- The last sequence of a producer with its id; false if nothing is stored.
local function last_of(producer)
  if numbered[producer] == nil then numbered[producer] = call('HGET', LAST, producer) end
  return numbered[producer]
end

local function append(producer, sequence, previous, key, record)
  local known = producer ~= '' and last_of(producer)
  if known then
    local last, id = struct.unpack('>I8', known), string.sub(known, 9)
    if sequence <= last then return { 2, sequence == last and id or '' } end -- guard: stream_append_once
    if previous ~= last then return { 3, last } end -- guard: stream_append_order
  end
  if entries_max > 0 and length >= entries_max then return { 4 } end -- guard: stream_entries_max
  local id = add(LOG, 'k', key, 'e', record)
  length = length + 1
  if producer ~= '' then
    numbered[producer] = struct.pack('>I8', sequence) .. id
    changed[producer] = true
  end
  return { 1, id }
end

for at = 3, #ARGV, 5 do
  replies[#replies + 1] = append(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4])
end
for producer in pairs(changed) do
  call('HSET', LAST, producer, numbered[producer])
  call('ZADD', ACTIVE, text(NOW), producer)
end
local old = call('ZRANGEBYSCORE', ACTIVE, '-inf', '(' .. text(NOW - window), 'LIMIT', 0, 2 * #replies)
if #old > 0 then
  call('ZREM', ACTIVE, unpack(old))
  call('HDEL', LAST, unpack(old))
end
return replies
