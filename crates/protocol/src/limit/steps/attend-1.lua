-- Notes that an instance uses a limit. Forgets those that have not done so for long, and times that the clock has not reached.
-- KEYS 1 instances    ARGV 1 instance, 2 ms after which an instance is not counted
-- Replies the number of instances, this one included
-- Cost O(log n + forgotten ones). Safe to repeat.
local now = now_ms(KEYS[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2])) -- guard: limit_instances_end
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
