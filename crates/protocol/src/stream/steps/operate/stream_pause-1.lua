-- Pauses a group until a time; a time that has passed resumes it.
-- KEYS 1 partition    ARGV 1 group, 2 until
-- Replies {0} missing · {1}
-- Cost O(1). Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch then return { MISSING } end
redis.call('HSET', s.key, 'paused', ARGV[2])
return { DONE }
