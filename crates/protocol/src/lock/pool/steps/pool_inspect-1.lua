-- Returns the state of a pool.
-- KEYS 1 pool    ARGV none
-- Replies nothing: never used · {permits in all, fence, waiting, {{owner, permits, lease left, held for ms, metadata}, ...}}
-- Cost O(holders + waiting). Reads only.
local now = now_ms(KEYS[1])
local pool, holders = open(now, KEYS[1]), {}
if pool.permits == 0 then return nil end
for owner, h in pairs(pool.holds) do holders[#holders + 1] = shown(now, owner, h) end
return { pool.permits, pool.fence, pool.waiting, holders }
