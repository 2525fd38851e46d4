-- Revokes a lock from its holder, or ends its cooling time, and notifies the waiting processes.
-- KEYS 1 lock, 2 fence, 3 waiters    ARGV 1 the fence that was seen (0: any), 2 channel
-- Replies nothing: free, or another holder · {owner, fence, lease left, ms until free, held for ms, waiting, metadata}
-- Cost O(log waiting processes). Safe to repeat.
local held = open(KEYS[1])
if not held then return nil end
local seen = tonumber(ARGV[1])
if seen > 0 and held.fence ~= seen then return nil end -- guard: lock_break_fence
call('DEL', KEYS[1])
-- Ends the reservation that the last release made.
note(KEYS[2], math.max(held.fence, (ledger(KEYS[2]))), NO_OWNER, 0)
call('SPUBLISH', ARGV[2], '')
return {
  held.owner, held.fence, math.max(held.ends - now, 0), held.ends + held.cooling - now,
  math.max(now - held.since, 0), others(KEYS[3], ''), held.metadata,
}
