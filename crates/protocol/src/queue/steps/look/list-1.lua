-- A page of an index, by score, then id: ascending, or descending.
-- KEYS 1 shard    ARGV 1 index (0-3 waiting by priority, 4 leased, 5 dead), 2 limit, 3 "1" for descending order, 4, 5 score and id of the last one seen
-- Replies id, score of each
-- Cost O(limit + log² n). Writes nothing. A cursor is valid even if its job is no longer in this index.
local s = shard_of(KEYS[1], ARGV)
local index = ({ [4] = s.leased, [5] = s.dead })[tonumber(ARGV[1])] or s.due[tonumber(ARGV[1])]
local limit, descends, score, id = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], ARGV[5]

-- Lua compares strings by the server's locale; Redis orders members by their bytes.
local function above(a, b)
  for at = 1, 16 do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x > y end
  end
  return false
end

-- The number of members before the cursor; with `through`, up to the cursor. A binary search among the members with its score.
local function rank(through)
  local from, to = redis.call('ZCOUNT', index, '-inf', '(' .. score), redis.call('ZCOUNT', index, '-inf', score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    local member = redis.call('ZRANGE', index, middle, middle)[1]
    local behind = above(member, id) or (not through and member == id)
    if behind then to = middle else from = middle + 1 end
  end
  return from
end

if not descends then
  local from = score and rank(true) or 0
  return redis.call('ZRANGE', index, from, from + limit - 1, 'WITHSCORES')
end
local to, page = score and rank(false) or redis.call('ZCARD', index), {}
if to == 0 then return page end
local found = redis.call('ZRANGE', index, math.max(to - limit, 0), to - 1, 'WITHSCORES')
for at = #found - 1, 1, -2 do
  page[#page + 1], page[#page + 2] = found[at], found[at + 1]
end
return page
