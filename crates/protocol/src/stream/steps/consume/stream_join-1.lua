-- Joins a group. Where partitions are leased, acquires the lease, with a fencing token above all earlier ones.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 lease ms, 4 fence floor
-- Replies {0} missing · {1, fence (0: entries are leased), epoch, lease left} · {5, ms} another consumer has the lease, for so many ms
-- Cost O(1). Safe to repeat: the owner gets the same fence.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch then return { MISSING } end
local lease_now = lease_clock(s)
if s.group.mode ~= BY_PARTITION then return { DONE, 0, tonumber(s.group.epoch), 0 } end
local consumer, lease = ARGV[2], tonumber(ARGV[3])
local left = tonumber(s.group.ends or 0) - lease_now
if s.group.owner and left > 0 then
  if s.group.owner == consumer then return { DONE, tonumber(s.group.fence), tonumber(s.group.epoch), left } end -- guard: stream_join_repeat
  return { TAKEN, left } -- guard: stream_join_exclusive
end
local fence = 1
fence = math.max(fence, tonumber(s.group.fence or 0) + 1) -- guard: stream_fence_previous
fence = math.max(fence, s.now * 1000) -- guard: stream_fence_time
fence = math.max(fence, tonumber(ARGV[4]) + 1) -- guard: stream_fence_floor
redis.call('HSET', s.key, 'owner', consumer, 'fence', text(fence), 'ends', text(lease_now + lease))
return { DONE, fence, tonumber(s.group.epoch), lease }
