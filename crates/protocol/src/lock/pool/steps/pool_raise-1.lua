-- Raises the fence of a read/write lock above the one stored in SQL, after Redis has lost a higher one.
-- KEYS 1 pool    ARGV 1 owner, 2 the owner's fence, 3 the fence stored in SQL
-- Replies the fence · 0 lost
-- Cost O(holders + waiting). Safe to repeat: a fence that is high enough is not changed.
local now = now_ms(KEYS[1])
local pool = open(now, KEYS[1])
if not pool.holds[ARGV[1]] then return 0 end -- guard: pool_raise_owner
local mine, seen = tonumber(ARGV[2]), tonumber(ARGV[3])
if pool.fence == seen and mine < seen then return seen end -- guard: pool_raise_shared
if pool.fence > seen then return pool.fence end
pool.fence = seen + 1
save(KEYS[1], pool)
return pool.fence
