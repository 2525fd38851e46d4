-- Sends dead letters back to their group: appends them for this group only, and removes them from the dead letters.
-- KEYS 1 partition    ARGV 1 group, then ids of dead letters
-- Replies nothing: there is no such partition · for each an id: appended · '' unknown · 'p' its key is parked; fewer once it has read
-- the bytes of a full reply
-- Cost O(log n) a letter. A repeat finds the letters gone.
local s = group_of(KEYS[1], ARGV[1])
if redis.call('EXISTS', s.log) == 0 then return false end
check_types(s) -- guard: stream_types_checked
local replies, bytes = {}, 0
for at = 2, #ARGV do
  if bytes >= BYTES_MAX then break end -- guard: stream_redrive_bytes
  local fields, reply = entry(s.dead, ARGV[at]), ''
  bytes = bytes + #(fields and value(fields, 'e') or '')
  local k = fields and value(fields, 'k')
  local parked = false
  parked = k and redis.call('HEXISTS', s.parked, k) == 1 -- guard: stream_redrive_parked
  if parked then
    reply = 'p'
  elseif fields then
    reply = add(s, s.log, 'k', k, 'e', value(fields, 'e'), 'g', s.name, 'o', value(fields, 'o'))
    redis.call('XDEL', s.dead, ARGV[at])
  end
  replies[#replies + 1] = reply
end
return replies
