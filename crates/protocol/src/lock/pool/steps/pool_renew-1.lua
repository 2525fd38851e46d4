-- Renews a lease of permits from now, if the caller still has it; never creates one, never shortens it.
-- KEYS 1 pool    ARGV 1 owner, 2 lease ms
-- Replies {1, lease left} renewed · {2, lease left} held, at its limit · {0, 0} lost
-- Cost O(1). Safe to repeat.
local now = now_ms(KEYS[1])
local held = hold_of(now, ask('HGET', KEYS[1], 'h' .. ARGV[1]))
if not held then return { 0, 0 } end
local lease = tonumber(ARGV[2])
local ends = now + lease
if held.limit > 0 then ends = math.min(ends, held.limit) end -- guard: pool_max_hold
if ends <= held.ends then return { 2, held.ends - now } end
held.ends, held.lease = ends, lease
place_hold(KEYS[1], ARGV[1], held)
redis.call('PEXPIRE', KEYS[1], RETAINED_MS)
return { 1, ends - now }
