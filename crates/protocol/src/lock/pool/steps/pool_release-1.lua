-- Releases the caller's permits and its place in the queue, and notifies the waiters whose turn it is then.
-- KEYS 1 pool    ARGV 1 owner, 2 channel
-- Replies {1, other waiters} released · {-1, 0} it held nothing: its lease ended, this call is a repeat, or it only waited
-- Cost O(holders + waiting). Safe to repeat: a repeat finds nothing and replies so.
local now = now_ms(KEYS[1])
local pool, owner = open(now, KEYS[1]), ARGV[1]
local held, waited = pool.holds[owner], pool.waits[owner]
if not held and not waited then return { -1, 0 } end
if held then pool.used = pool.used - held.permits end
if waited then pool.waits[owner], pool.waiting = nil, pool.waiting - 1 end
redis.call('HDEL', KEYS[1], 'h' .. owner, 'w' .. owner)
redis.call('PEXPIRE', KEYS[1], RETAINED_MS)
notify_waiters(ARGV[2], pool)
if not held then return { -1, 0 } end
return { 1, pool.waiting }
