-- Deletes the items that their new shard has received.
-- KEYS 1 shard    ARGV 1 number of the other shard, 2 the last sequence number that it has received, 3 limit
-- Replies the number of items that remain for that shard
-- Cost O(limit log n). Safe to repeat.
local key = tag .. ':leaving:' .. ARGV[1]
local labels = call('ZRANGEBYSCORE', key, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
for _, label in ipairs(labels) do
  local kind, id = struct.unpack('>Bc16', label)
  if kind == 1 then call('DEL', JOB .. id) end
end
if #labels > 0 then call('ZREM', key, unpack(labels)) end
return call('ZCARD', key)
