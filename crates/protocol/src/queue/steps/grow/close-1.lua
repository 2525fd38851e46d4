-- Sets the topic's number of shards: after this the shard accepts no new item that belongs to another one.
-- KEYS 1 shard    ARGV 1 shards, 2 shards before; for a new shard also what it inherits: 3 paused, 4 jobs_max, 5 bytes_max, 6 floor
-- Replies what a new shard inherits from this one
-- Cost O(1). A repeat changes nothing.
local s = shard_of(KEYS[1], ARGV)
local shards, before = tonumber(ARGV[1]), tonumber(ARGV[2])
local INHERITED = { 'paused', 'jobs_max', 'bytes_max', 'floor' }
if shards > s.meta.shards then
  redis.call('HSET', s.meta_key, 'shards', ARGV[1])
  for at, field in ipairs(INHERITED) do
    local inherited = tonumber(ARGV[at + 2] or -1)
    local is_limit = field == 'jobs_max' or field == 'bytes_max'
    if inherited >= 0 then
      s.meta[field] = inherited
    elseif is_limit and s.meta[field] < FOREVER then
      s.meta[field] = math.max(math.floor(s.meta[field] * before / shards), 1) -- each shard's share of the topic's limit
    end
    redis.call('HSET', s.meta_key, field, string.format('%.0f', s.meta[field]))
  end
end
local reply = {}
for at, field in ipairs(INHERITED) do reply[at] = s.meta[field] end
return reply
