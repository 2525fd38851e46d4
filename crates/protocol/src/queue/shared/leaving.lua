-- The items on their way to other shards.
-- Cost O(1) an item.
local SCHEDULES = tag .. ':schedules'

-- The index of the items for a shard.
local function leaving(keeper)
  return tag .. ':leaving:' .. keeper
end

-- Rejects the call, before it writes, if a key that it needs for the items has a value of another type.
local function check_leaving(items)
  check_types(nil, nil, SCHEDULES)
  for _, item in ipairs(items) do
    local keeper = elsewhere(string.sub(item, 2))
    if keeper then call('ZCARD', leaving(keeper)) end
  end
end

local function send(keeper, kind, id, place, score)
  local sequence = call('HINCRBY', META, 'gave:' .. keeper, 1)
  call('ZADD', leaving(keeper), sequence, struct.pack('>Bc16BI6', kind, id, place, score))
  return 1
end
