-- Takes tokens of every level at the first time at which all of them are available, if that is soon enough; otherwise of none.
-- KEYS 1 tag of the buckets
-- ARGV 1 tokens, 2 longest wait in ms, then for each level: suffix of the key; `r`, refill of a ms, cost of a token, burst, all in units;
-- or `w`, most tokens, length of a slot in ms, 0
-- Replies {1, wait ms, tokens left then} admitted · {0, wait needed in ms, level} refused
-- Cost O(levels), at most 8. A repeat takes the tokens again: it is sent once.
local now, tokens, wait, longest, left = now_ms(KEYS[1]), tonumber(ARGV[1]), 0, 1, nil
local levels = {}
for i = 3, #ARGV, 5 do
  local one, two, three = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  local key = KEYS[1] .. ARGV[i]
  -- A value that another program has written under the key of a bucket reads as a full bucket.
  local raw = redis.pcall('GET', key)
  if type(raw) == 'table' and string.sub(raw.err, 1, 9) ~= 'WRONGTYPE' then return raw end
  local level = ARGV[i + 1] == 'r' and rate_of(now, raw, one, two, three) or window_of(now, raw, one, two)
  level.key = key
  levels[#levels + 1] = level
  local needed = level.is_rate and rate_wait(level, tokens) or window_wait(now, level, tokens)
  local is_longer = true
  is_longer = needed > wait -- guard: limit_all_levels
  if is_longer then wait, longest = needed, #levels end
end
if wait > tonumber(ARGV[2]) then
  for _, level in ipairs(levels) do
    -- Otherwise each later call would find a bucket from the future, without a refill since.
    if level.is_set_back then store(now, level) end -- guard: limit_refusal_stores_set_back
  end
  return { 0, wait, longest }
end
for _, level in ipairs(levels) do
  local here = level.is_rate and rate_debit(level, tokens, wait) or window_debit(level, tokens, now + wait)
  left = math.min(left or here, here)
  store(now, level)
end
return { 1, wait, left }
