-- Some jobs without most of their bodies.
-- KEYS 1 shard    ARGV 1 the bytes of each body and of each text, then ids
-- Replies for each: nothing, unknown; or the shortened record, the index, the score, and the length of the body (shared/preview.lua)
-- Cost O(notes) an id. Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local answers, most = {}, tonumber(ARGV[1])
for at = 2, #ARGV do
  local record, index, score, body = preview(s, ARGV[at], most)
  answers[at - 1] = record and { record, index, score, body } or false
end
return answers
