-- Revokes permits from their holders and notifies all waiters.
-- KEYS 1 pool    ARGV 1 the owner that was seen (empty: all), 2 channel
-- Replies {{owner, permits, lease left, held for ms, metadata}, ...}: the former holders
-- Cost O(holders + waiting). Safe to repeat.
local now = now_ms(KEYS[1])
local pool, broken = open(now, KEYS[1]), {}
for owner, h in pairs(pool.holds) do
  local is_meant = true
  is_meant = ARGV[1] == '' or ARGV[1] == owner -- guard: pool_break_owner
  if is_meant then broken[#broken + 1] = shown(now, owner, h) end
end
for _, gone in ipairs(broken) do redis.call('HDEL', KEYS[1], 'h' .. gone[1]) end
redis.call('SPUBLISH', ARGV[2], '')
return broken
