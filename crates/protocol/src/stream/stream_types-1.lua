-- Fails if another program has put a value of another type under a key of the partition or the group. A process calls it before its first
-- call of an epoch.
-- KEYS 1 partition    ARGV 1 group
-- Replies 1
-- Cost O(1). Writes nothing.
local s = group_of(KEYS[1], ARGV[1])
check_types(s) -- guard: stream_types_checked
return 1
