-- Deletes dead letters.
-- KEYS 1 shard    ARGV ids
-- Replies a byte for each: 1 deleted · 0 not a dead letter
-- Cost O(log n) an id
local s = shard_of(KEYS[1], ARGV)
local answers = {}
for at, id in ipairs(ARGV) do
  local j = open(s, head_of(s, id))
  local dead = redis.call('ZREM', s.dead, id) == 1
  if dead and j then finish(s, id, j, DELETED) end
  answers[at] = string.char(dead and 1 or 0)
end
save(s)
return table.concat(answers)
