-- Fails if another program has put a value of another type under a key of the shard. A process calls it before its first call of an epoch.
-- KEYS 1 shard    ARGV none
-- Replies 1
-- Cost O(1). Writes nothing.
local s = shard_of(KEYS[1], ARGV)
check_types(s, s.workers, s.wake, s.tag .. ':answers') -- guard: queue_types_checked
redis.call('HLEN', s.tag .. ':schedules')
return 1
