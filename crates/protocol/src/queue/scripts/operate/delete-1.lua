-- Deletes dead letters.
-- KEYS 1 shard    ARGV ids
-- Replies a byte for each: 1 deleted · 0 not a dead letter
-- Cost O(log n) an id
local answers = {}
for at, id in ipairs(ARGV) do
  local j = open(head_of(id))
  local dead = call('ZREM', DEAD, id) == 1
  if dead and j then finish(id, j, DELETED) end
  answers[at] = string.char(dead and 1 or 0)
end
save_totals()
return table.concat(answers)
