-- The items that were sent to another shard, in the order of their removal.
-- KEYS 1 shard    ARGV 1 number of the other shard, 2 limit, 3 "1" returns the first regardless of its size
-- Replies sequence, label (24: kind 1, id 16, place 1, score 6), record of each; an expired completion record has no record.
-- For a first record above 1 MiB only its length, in place of the record: the caller requests it separately
-- Cost O(limit log n + records), 4 MiB unless ARGV 3 is "1". Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local ALONE_MAX, room = 1048576, 4194304
local found = redis.call('ZRANGE', s.tag .. ':leaving:' .. ARGV[1], 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
local reply = {}

local function answer(sequence, label, record)
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = tonumber(sequence), label, record
end

for at = 1, #found, 2 do
  local kind, id = struct.unpack('>Bc16', found[at])
  local size = kind == 1 and ask('STRLEN', s.job .. id) or 0
  if is_foreign(size) then size = 0 end
  local is_large, is_first = size > ALONE_MAX, at == 1
  if is_large and is_first and ARGV[3] ~= '1' then
    answer(found[at + 1], found[at], size)
    break
  end
  local full = not is_first and (is_large or size > room)
  if full then break end -- guard: queue_leaving_bytes
  room = room - size
  local raw = size > 0 and redis.call('GET', s.job .. id) or ''
  if size > 0 then raw = string.char(string.byte(raw, 1) - 2) .. string.sub(raw, 2) end
  answer(found[at + 1], found[at], raw)
end
return reply
