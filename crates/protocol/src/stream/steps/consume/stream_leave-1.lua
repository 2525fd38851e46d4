-- Returns the lease of a partition. Entries that its owner has not settled stay pending.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch
-- Replies {0} missing · {1} returned · {2} stale, or this call is a repeat · {3} other mode
-- Cost O(1). Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
local code = refused(s, ARGV[2], ARGV[3], ARGV[4])
if code then return { code } end
redis.call('HDEL', s.key, 'owner', 'ends')
return { DONE }
