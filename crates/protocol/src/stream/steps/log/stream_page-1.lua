-- A page of the log, or of the dead letters of a group.
-- KEYS 1 partition    ARGV 1 the key after the partition, 2 id after which the page begins, 3 limit
-- Replies the entries, as XRANGE does; fewer than `limit` if they are the last ones, or have the bytes of a full reply
-- Cost O(limit). Writes nothing.
local s = log_of(KEYS[1])
local after, left, bytes, out = ARGV[2], tonumber(ARGV[3]), 0, {}
while left > 0 and bytes < BYTES_MAX do
  local part = math.min(left, PART)
  local found = redis.call('XRANGE', s.tag .. ':' .. ARGV[1], '(' .. after, '+', 'COUNT', part)
  for _, item in ipairs(found) do
    out[#out + 1], after = item, item[1]
    bytes = bytes + #(value(item[2], 'k') or '') + #(value(item[2], 'e') or '')
  end
  left = #found < part and 0 or left - part
end
return out
