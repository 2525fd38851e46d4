-- Returns the state of a lock.
-- KEYS 1 lock, 2 waiters    ARGV none
-- Replies nothing: free · {owner, fence, lease left (0: cooling), ms until it can be free, held for ms, waiting processes, metadata}
-- Cost O(log waiting processes). Reads only.
local held = open(KEYS[1])
if not held then return nil end
return {
  held.owner, held.fence, math.max(held.ends - now, 0), held.ends + held.cooling - now,
  math.max(now - held.since, 0), others(KEYS[2], ''), held.metadata,
}
