-- Ends a pause and wakes the consumers, so that they claim or set a timer.
-- KEYS 1 shard    ARGV none
-- Replies 1
-- Cost O(log n). Safe to repeat.
check_types(WAKE) -- guard: queue_types_checked
call('HDEL', META, 'paused')
meta.paused = 0
leave_markers(nil)
return 1
