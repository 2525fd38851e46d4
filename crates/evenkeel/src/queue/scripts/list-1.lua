-- A page of an index, by score, then id.
-- KEYS 1 shard    ARGV 1 index (0-3 waiting by priority, 4 leased, 5 dead), 2 limit, 3 score and 4 id of the last one seen (or none)
-- Replies id, score of each
-- Cost O(limit + log n). Writes nothing. A cursor whose job has moved on is still good.
local index = ({ [4] = LEASED, [5] = DEAD })[tonumber(ARGV[1])] or DUE[tonumber(ARGV[1])]
local limit, score, id = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if not score then return call('ZRANGE', index, 0, limit - 1, 'WITHSCORES') end
if tonumber(call('ZSCORE', index, id)) == score then
  local rank = call('ZRANK', index, id)
  return call('ZRANGE', index, rank + 1, rank + limit, 'WITHSCORES')
end

local function above(a, b)
  for at = 1, 16 do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x > y end
  end
  return false
end

-- The cursor's job is gone: begin at its score and leave out what came before its id.
local found = call('ZRANGEBYSCORE', index, score, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
local page = {}
for at = 1, #found, 2 do
  local seen = tonumber(found[at + 1]) == score and not above(found[at], id)
  if not seen and #page < 2 * limit then
    page[#page + 1] = found[at]
    page[#page + 1] = found[at + 1]
  end
end
return page
