-- Everything about some ids.
-- KEYS 1 shard    ARGV ids
-- Replies for each: nothing, unknown; or the record, the index (0-3 waiting by priority, 4 leased, 5 dead, -1 ended), and the score
-- Cost O(records). Writes nothing.
local function found(id)
  local raw = call('GET', JOB .. id)
  local j, how = open(raw)
  if how then return { raw, -1, 0 } end
  local index, score = nil, nil
  if j then index, score = where(id, j) end
  if not index then return false end
  return { raw, index == DEAD and 5 or index == LEASED and 4 or j.flags % 4, score }
end

local answers = {}
for at, id in ipairs(ARGV) do answers[at] = found(id) end
return answers
