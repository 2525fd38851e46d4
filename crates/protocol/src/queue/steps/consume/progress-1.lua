-- Stores a delivery's progress in place of the previous one, for the next attempt.
-- KEYS 1 shard    ARGV 1 delivery: id (16), fence (8), token (16); 2 progress
-- Replies 1 stored · 0 lost
-- Cost O(notes); O(record) if the progress is shorter than the previous one. Safe to repeat.
local s = shard_of(KEYS[1], ARGV)
local PROGRESS = 7
local id, hold = struct.unpack('>c16c24', ARGV[1])
local j = current(s, id, hold)
if not j then return 0 end
local notes, tail = notes_of(s, id, j)
local kept = {}
each_note(notes, function(kind, _, first, last)
  if kind ~= PROGRESS then kept[#kept + 1] = string.sub(notes, first, last) end
end)
kept[#kept + 1] = struct.pack('>BH', PROGRESS, #ARGV[2]) .. ARGV[2]
notes = table.concat(kept)
local ending = notes .. struct.pack('>I4', #notes)
local before = redis.call('STRLEN', s.job .. id) - tail
if #ending < tail then redis.call('SET', s.job .. id, redis.call('GETRANGE', s.job .. id, 0, before - 1)) end
redis.call('SETRANGE', s.job .. id, before, ending)
j.flags = bit.bor(j.flags, NOTES)
redis.call('SETRANGE', s.job .. id, 0, head(j))
add(s, 'bytes', #ending - tail)
note_size(s, before + #ending)
save(s)
return 1
