-- Compare-and-set of a topic's entry in the register of grown topics.
-- KEYS 1 register    ARGV 1 topic, 2 entry seen ("" for none), 3 entry after this
-- Replies the entry after this call
-- Cost O(1). Safe to repeat.
local held = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if held ~= ARGV[2] then return held end -- guard: queue_grown_once
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return ARGV[3]
