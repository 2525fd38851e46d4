-- The shard of an id, once the topic is known to have grown.
-- Cost O(1).

-- The number of the shard to which the id belongs, if it is another one; nil before the topic has grown.
local function elsewhere(s, id)
  if s.meta.shards == 0 then return nil end
  local keeper = struct.unpack('>H', string.sub(id, 15)) % s.meta.shards
  if keeper ~= tonumber(string.match(s.tag, ':(%d+)}$')) then return keeper end
end
