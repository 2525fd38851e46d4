-- Deletes the items that their new shard has received.
-- KEYS 1 shard    ARGV 1 number of the other shard, 2 the last sequence number that it has received, 3 limit
-- Replies the number of items that remain for that shard
-- Cost O(limit log n). Safe to repeat.
local s = shard_of(KEYS[1], ARGV)
local key = s.tag .. ':leaving:' .. ARGV[1]
local labels = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
for _, label in ipairs(labels) do
  local kind, id = struct.unpack('>Bc16', label)
  if kind == 1 then redis.call('DEL', s.job .. id) end
end
if #labels > 0 then redis.call('ZREM', key, unpack(labels)) end
return redis.call('ZCARD', key)
