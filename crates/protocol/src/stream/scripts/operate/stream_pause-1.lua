-- Pauses a group until a time; a time that has passed resumes it.
-- KEYS 1 partition    ARGV 1 group, 2 until
-- Replies {0} missing · {1}
-- Cost O(1). Safe to repeat.
if not g.epoch then return { MISSING } end
call('HSET', G, 'paused', ARGV[2])
return { DONE }
