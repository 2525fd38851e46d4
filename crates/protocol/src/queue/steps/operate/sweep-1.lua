-- Acquires or extends the lease under which one process at a time compares the rows of a topic with the store.
-- KEYS 1 lease    ARGV 1 caller, 2 lease ms
-- Replies 2 acquired: it was free (expired, or the server was flushed) · 1 extended · 0 another process has it
-- Cost O(1). A repeat extends it. Two concurrent holders are harmless: a put of a version that is stored changes nothing.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return holder and 1 or 2
