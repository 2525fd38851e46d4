-- Lets a server of a Redlock take part again, with a fence that those it hands out are above.
-- KEYS 1 server    ARGV 1 its boot id, 2 since when it sits out, 3 floor
-- Replies 1 it is a member · 0 it was started again or flushed meanwhile
-- Cost O(1). Safe to repeat.
local call = redis.call
-- What another program has put there says nothing.
local mark = redis.pcall('HMGET', KEYS[1], 'boot', 'since', 'member')
local boot, since, member = unpack(mark.err and {} or mark)
if boot ~= ARGV[1] or since ~= ARGV[2] then return 0 end
if member == '1' then return 1 end
call('HSET', KEYS[1], 'member', '1', 'floor', ARGV[3])
return 1
