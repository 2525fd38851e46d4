-- Makes a server of a Redlock a member again. All fencing tokens that it issues are above the given floor.
-- KEYS 1 server    ARGV 1 its boot id, 2 start of its exclusion, 3 floor
-- Replies 1 it is a member · 0 it was restarted or flushed meanwhile
-- Cost O(1). Safe to repeat.
-- A key of another type was written by another program and is ignored.
local mark = redis.pcall('HMGET', KEYS[1], 'boot', 'since', 'member')
local boot, since, member = unpack(mark.err and {} or mark)
if boot ~= ARGV[1] or since ~= ARGV[2] then return 0 end
if member == '1' then return 1 end
redis.call('HSET', KEYS[1], 'member', '1', 'floor', ARGV[3])
return 1
