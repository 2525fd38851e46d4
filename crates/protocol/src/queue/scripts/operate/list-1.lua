-- A page of an index, by score, then id.
-- KEYS 1 shard    ARGV 1 index (0-3 waiting by priority, 4 leased, 5 dead), 2 limit, 3 score and 4 id of the last one seen (or none)
-- Replies id, score of each
-- Cost O(limit + log² n). Writes nothing. A cursor is valid even if its job is no longer in this index.
local index = ({ [4] = LEASED, [5] = DEAD })[tonumber(ARGV[1])] or DUE[tonumber(ARGV[1])]
local limit, score, id = tonumber(ARGV[2]), ARGV[3], ARGV[4]

-- Lua compares strings by the server's locale; Redis orders members by their bytes.
local function above(a, b)
  for at = 1, 16 do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x > y end
  end
  return false
end

local from = 0
if score then
  -- Binary search among the members with that score for the first one with a higher id.
  local to = call('ZCOUNT', index, '-inf', score)
  from = call('ZCOUNT', index, '-inf', '(' .. score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    if above(call('ZRANGE', index, middle, middle)[1], id) then to = middle else from = middle + 1 end
  end
end
return call('ZRANGE', index, from, from + limit - 1, 'WITHSCORES')
