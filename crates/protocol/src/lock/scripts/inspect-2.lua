-- Returns the state of a lock.
-- KEYS 1 lock, 2 waiters    ARGV none
-- Replies nothing: free · {owner, fence, lease left (0: cooling), ms until it can be free, held for ms, waiting processes, metadata}
-- Cost O(log waiting processes). Reads only.
local s = call_of(KEYS[1])
local held = open(s, KEYS[1])
if not held then return nil end
return {
  held.owner, held.fence, math.max(held.ends - s.now, 0), held.ends + held.cooling - s.now,
  math.max(s.now - held.since, 0), others(s, KEYS[2], ''), held.metadata,
}
