-- Raises the fence of a held lock above the one stored in SQL, after Redis has lost a higher one.
-- KEYS 1 lock, 2 fence    ARGV 1 owner, 2 the fence stored in SQL
-- Replies the fence · 0 lost
-- Cost O(1). Safe to repeat: a fence that is high enough is not changed.
local s = call_of(KEYS[1])
local held = open(s, KEYS[1])
if not held then return 0 end
if held.owner ~= ARGV[1] then return 0 end -- guard: lock_raise_owner
if s.now >= held.ends then return 0 end
local seen = tonumber(ARGV[2])
if held.fence > seen then return held.fence end
local last, _, turn_ends = ledger(s, fetch(s, KEYS[2]))
held.fence = math.max(last, seen) + 1
note(KEYS[2], held.fence, NO_OWNER, math.min(turn_ends, WAITED))
place(s, KEYS[1], held)
return held.fence
