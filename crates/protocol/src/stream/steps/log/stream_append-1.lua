-- Appends entries, each once if its producer numbers them.
-- KEYS 1 partition    ARGV 1 ms for which a producer's last sequence is stored, 2 maximum number of entries (0: no limit),
--   then for each: producer (16 bytes, or nothing), sequence, previous sequence, key, record
-- Replies nothing: there is no such partition · for each {1, id} appended · {2, id or nothing} duplicate · {3, last sequence} out of order · {4} full
-- Cost O(log producers) an entry. A repeat finds the sequences that the first call stored.
local s = producers_of(KEYS[1])
local window, entries_max, replies, length = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, redis.call('XLEN', s.log)
if length == 0 and redis.call('EXISTS', s.log) == 0 then return false end -- guard: stream_append_creates_nothing
local is_numbered = false
for at = 3, #ARGV, 5 do is_numbered = is_numbered or ARGV[at] ~= '' end
if is_numbered then check_producers(s) end -- guard: stream_types_checked
forget_producers(s, window, 2 * (#ARGV - 2) / 5)

local function append(producer, sequence, previous, key, record)
  local last, last_id
  if producer ~= '' then last, last_id = last_of(s, producer) end
  if last then
    if sequence <= last then return { 2, sequence == last and last_id or '' } end -- guard: stream_append_once
    if previous ~= last then return { 3, last } end -- guard: stream_append_order
  end
  if entries_max > 0 and length >= entries_max then return { 4 } end -- guard: stream_entries_max
  local id = add(s, s.log, 'k', key, 'e', record)
  length = length + 1
  if producer ~= '' then number(s, producer, sequence, id) end
  return { 1, id }
end

for at = 3, #ARGV, 5 do
  replies[#replies + 1] = append(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4])
end
store(s)
return replies
