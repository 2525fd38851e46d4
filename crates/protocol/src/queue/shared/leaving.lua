-- The items on their way to other shards.
-- Cost O(1) an item.

-- The index of the items for a shard.
local function leaving(s, keeper)
  return s.tag .. ':leaving:' .. keeper
end

-- Rejects the call, before it writes, if a key that it needs for the items has a value of another type.
local function check_leaving(s, items)
  check_types(s, nil, nil, s.tag .. ':schedules')
  for _, item in ipairs(items) do
    local keeper = elsewhere(s, string.sub(item, 2))
    if keeper then redis.call('ZCARD', leaving(s, keeper)) end
  end
end

local function send(s, keeper, kind, id, place, score)
  local sequence = redis.call('HINCRBY', s.meta_key, 'gave:' .. keeper, 1)
  redis.call('ZADD', leaving(s, keeper), sequence, struct.pack('>Bc16BI6', kind, id, place, score))
  return 1
end
