-- Notes how far a delivery is, in place of what was noted before. The next attempt finds it.
-- KEYS 1 shard    ARGV 1 delivery: id (16), fence (8), token (16); 2 words
-- Replies 1 noted · 0 lost
-- Cost O(notes); O(record) when the words are shorter than those before. Safe to repeat.
local PROGRESS = 7
local id, hold = struct.unpack('>c16c24', ARGV[1])
local j = current(id, hold)
if not j then return 0 end
local notes, tail = notes_of(id, j)
local kept = {}
each_note(notes, function(kind, _, first, last)
  if kind ~= PROGRESS then kept[#kept + 1] = string.sub(notes, first, last) end
end)
kept[#kept + 1] = struct.pack('>BH', PROGRESS, #ARGV[2]) .. ARGV[2]
notes = table.concat(kept)
local ending = notes .. struct.pack('>I4', #notes)
local before = call('STRLEN', JOB .. id) - tail
if #ending < tail then call('SET', JOB .. id, call('GETRANGE', JOB .. id, 0, before - 1)) end
call('SETRANGE', JOB .. id, before, ending)
j.flags = bit.bor(j.flags, NOTES)
call('SETRANGE', JOB .. id, 0, head(j))
add('bytes', #ending - tail)
note_size(before + #ending)
save_totals()
return 1
