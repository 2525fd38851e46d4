-- Renews a lease from now, if the caller still holds it; never creates one, never shortens it.
-- KEYS 1 lock    ARGV 1 owner, 2 lease ms
-- Replies {1, lease left} renewed · {2, lease left} held, at its limit · {0, 0} lost
-- Cost O(1). Safe to repeat.
local s = call_of(KEYS[1])
local held = open(s, KEYS[1])
if not held then return { 0, 0 } end
if held.owner ~= ARGV[1] then return { 0, 0 } end -- guard: lock_renew_owner
if s.now >= held.ends then return { 0, 0 } end -- guard: lock_renew_ended
local lease = tonumber(ARGV[2])
local ends = s.now + lease
if held.limit > 0 then ends = math.min(ends, held.limit) end -- guard: lock_max_hold
if ends <= held.ends then return { 2, held.ends - s.now } end
held.ends, held.lease = ends, lease
place(s, KEYS[1], held)
return { 1, ends - s.now }
