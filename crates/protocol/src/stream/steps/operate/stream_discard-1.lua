-- Deletes dead letters. A key is no longer parked when its last letter that parks it is deleted.
-- KEYS 1 partition    ARGV 1 group, 2 consumer ('': an operator), 3 fence, 4 epoch, then ids of dead letters
-- Replies {code} refused · {1, 1 or 0 for each letter that existed, a byte each}, fewer once it has read the bytes of a full reply
-- Cost O(log n) a letter. Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
if ARGV[2] ~= '' then
  local code = refused(s, ARGV[2], ARGV[3], ARGV[4])
  if code then return { code } end
end
check_types(s) -- guard: stream_types_checked
local flags, bytes = {}, 0
for at = 5, #ARGV do
  if bytes >= BYTES_MAX then break end -- guard: stream_discard_bytes
  local fields = entry(s.dead, ARGV[at])
  bytes = bytes + #(fields and value(fields, 'e') or '')
  if fields then
    redis.call('XDEL', s.dead, ARGV[at])
    local k, parked, left = value(fields, 'k'), value(fields, 'p') == '1', 0
    if parked then left = redis.call('HINCRBY', s.parked, k, -1) end -- guard: stream_unparked_at_zero
    if parked and left <= 0 then redis.call('HDEL', s.parked, k) end
  end
  flags[#flags + 1] = string.char(fields and 1 or 0)
end
return { DONE, table.concat(flags) }
