-- Deletes the first jobs of an index of waiting or dead jobs.
-- KEYS 1 shard    ARGV 1 index (0-3 waiting by priority, 5 dead), 2 limit
-- Replies the number of deleted jobs
-- Cost O(limit log n)
local s = shard_of(KEYS[1], ARGV)
local index = s.due[tonumber(ARGV[1])] or s.dead
-- By score, not by rank: a range up to rank -1 would be the whole index.
local ids = redis.call('ZRANGEBYSCORE', index, '-inf', '+inf', 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local j = open(s, head_of(s, id))
  if j then finish(s, id, j, DELETED) else add(s, 'ghosts', 1) end
end
if #ids > 0 then redis.call('ZREM', index, unpack(ids)) end
save(s)
return #ids
