-- What was taken out of this shard for another one, in the order in which it was taken out.
-- KEYS 1 shard    ARGV 1 number of the other shard, 2 limit
-- Replies sequence, label (24: kind 1, id 16, place 1, score 6), record of each; a stamp that has run out has no record any more
-- Cost O(limit log n + records). Writes nothing.
local found = call('ZRANGE', tag .. ':leaving:' .. ARGV[1], 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
local reply = {}
for at = 1, #found, 2 do
  local kind, id = struct.unpack('>Bc16', found[at])
  local raw = kind == 1 and call('GET', JOB .. id) or ''
  if #raw > 0 then raw = string.char(string.byte(raw, 1) - 2) .. string.sub(raw, 2) end
  for _, part in ipairs({ tonumber(found[at + 1]), found[at], raw }) do reply[#reply + 1] = part end
end
return reply
