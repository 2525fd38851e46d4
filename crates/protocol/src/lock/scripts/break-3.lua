-- Revokes a lock from its holder, or ends its cooling time, and notifies the waiting processes.
-- KEYS 1 lock, 2 fence, 3 waiters    ARGV 1 the fence that was seen (0: any), 2 channel
-- Replies nothing: free, or another holder · {owner, fence, lease left, ms until free, held for ms, waiting, metadata}
-- Cost O(log waiting processes). Safe to repeat.
local s = call_of(KEYS[1])
local held = open(s, KEYS[1])
if not held then return nil end
local seen = tonumber(ARGV[1])
if seen > 0 and held.fence ~= seen then return nil end -- guard: lock_break_fence
redis.call('DEL', KEYS[1])
-- Ends the reservation that the last release made.
local last, _, turn_ends = ledger(s, fetch(s, KEYS[2]))
note(KEYS[2], math.max(held.fence, last), NO_OWNER, math.min(turn_ends, WAITED))
redis.call('SPUBLISH', ARGV[2], '')
return {
  held.owner, held.fence, math.max(held.ends - s.now, 0), held.ends + held.cooling - s.now,
  math.max(s.now - held.since, 0), others(s, KEYS[3], ''), held.metadata,
}
