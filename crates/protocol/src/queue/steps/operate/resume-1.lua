-- Ends a pause and wakes the consumers, so that they claim or set a timer.
-- KEYS 1 shard    ARGV none
-- Replies 1
-- Cost O(log n). Safe to repeat.
local s = shard_of(KEYS[1], ARGV)
check_types(s, s.wake) -- guard: queue_types_checked
redis.call('HDEL', s.meta_key, 'paused')
s.meta.paused = 0
fill_markers(s, leave_markers(s) and 1 or 0)
return 1
