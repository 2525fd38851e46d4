-- Records that a consumer is alive, and lists the consumers that are.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 ms for which it counts (0: it leaves), 4 the most consumers of a reply
-- Replies {0} missing · {1, consumers in the order of their names}
-- Cost O(consumers). Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch then return { MISSING } end
local MEMBERS, lease_now, lease, names = s.key .. ':members', lease_clock(s), tonumber(ARGV[3]), {}
redis.call('ZREMRANGEBYSCORE', MEMBERS, '-inf', text(lease_now)) -- guard: stream_members_expire
redis.call('ZREM', MEMBERS, ARGV[2])
if lease > 0 then redis.call('ZADD', MEMBERS, text(lease_now + lease), ARGV[2]) end
for _, name in ipairs(redis.call('ZRANGE', MEMBERS, 0, -1)) do names[#names + 1] = name end
table.sort(names)
for at = #names, tonumber(ARGV[4]) + 1, -1 do names[at] = nil end
return { DONE, names }
