-- The shard of an id, once the topic is known to have grown.
-- Cost O(1).
local NUMBER = tonumber(string.match(tag, ':(%d+)}$'))

-- The number of the shard to which the id belongs, if it is another one; nil before the topic has grown.
local function elsewhere(id)
  if meta.shards == 0 then return nil end
  local keeper = struct.unpack('>H', string.sub(id, 15)) % meta.shards
  if keeper ~= NUMBER then return keeper end
end
