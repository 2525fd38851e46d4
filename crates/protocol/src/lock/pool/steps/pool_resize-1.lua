-- Changes the number of permits of a pool and notifies all waiters. Current holders keep their permits.
-- KEYS 1 pool    ARGV 1 permits in all, 2 channel
-- Replies 1
-- Cost O(holders + waiting). Safe to repeat.
local now = now_ms(KEYS[1])
local pool = open(now, KEYS[1])
pool.permits = tonumber(ARGV[1])
save(KEYS[1], pool)
redis.call('SPUBLISH', ARGV[2], '')
return 1
