-- Deletes the first jobs of an index of waiting or dead jobs.
-- KEYS 1 shard    ARGV 1 index (0-3 waiting by priority, 5 dead), 2 limit
-- Replies the number of deleted jobs
-- Cost O(limit log n)
local index = DUE[tonumber(ARGV[1])] or DEAD
-- By score, not by rank: a range up to rank -1 would be the whole index.
local ids = call('ZRANGEBYSCORE', index, '-inf', '+inf', 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local j = open(head_of(id))
  if j then finish(id, j, DELETED) else add('ghosts', 1) end
end
if #ids > 0 then call('ZREM', index, unpack(ids)) end
save_totals()
return #ids
