-- Extends the lease of the partition, or the leases of entries, and notes which deliveries run alone from now on.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch, 5 lease ms, then for each delivery: id, count, alone (1 or 0)
-- Replies {code} refused · {1, 1 or 0 for each delivery that is current, a byte each}
-- Cost O(log n) a delivery. Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
local code = refused(s, ARGV[2], ARGV[3], ARGV[4])
if code then return { code } end
check_types(s) -- guard: stream_types_checked
local me, lease_now, flags = name_of(ARGV[2], ARGV[3]), lease_clock(s), {}
local ends, leases_partition = lease_now + tonumber(ARGV[5]), ARGV[3] ~= '0'
if leases_partition then
  local extended = ends
  extended = math.max(ends, tonumber(s.group.ends or 0)) -- guard: stream_heartbeat_never_shortens
  redis.call('HSET', s.key, 'ends', text(extended))
end
for at = 6, #ARGV, 3 do
  local id, count = ARGV[at], tonumber(ARGV[at + 1])
  local state = state_of(s, id, count, me)
  if not state then return { MISSING } end
  if state == 1 and not leases_partition then redis.call('ZADD', s.leased, 'GT', text(ends), id) end
  local t, alone = tries_of(s, id), ARGV[at + 2] == '1' and count or 0
  local changes = alone > 0 and t.alone ~= alone
  changes = t.alone ~= alone and (alone > 0 or t.alone == count) -- guard: stream_alone_ends
  if state == 1 and changes then
    t.alone = alone
    redis.call('HSET', s.tries, id, packed(t))
    s.group.has_failed = true
  end
  flags[#flags + 1] = string.char(state == 1 and 1 or 0)
end
redis.call('ZADD', s.seen, text(lease_now), me)
return { DONE, table.concat(flags) }
