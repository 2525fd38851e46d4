-- Puts jobs with an expired lease back or ends them, and removes unresponsive workers.
-- KEYS 1 shard    ARGV 1 limit, 2 crashes until death, 3 delay after the first, 4 its maximum, 5 worker silence ms, 6 1: a job with a version has a row that decides
-- Replies the rescued (id 16, outcome 1: 1 lease expired, 2 crashed, 3 died, 4 discarded), and the ms until the next lease expires (-1 none)
-- Cost O(limit log n). A repeat takes the next ones.
local s = shard_of(KEYS[1], ARGV)
local crash_max, delay, delay_max = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
check_types(s, s.workers, s.wake, s.tag .. ':answers') -- guard: queue_types_checked
local lease_now, fates, deadline, row_decides = lease_clock(s), {}, '+inf', false
row_decides = ARGV[6] == '1' -- guard: queue_rescue_row_decides
deadline = lease_now -- guard: queue_rescue_deadline

local function rescue(id, j)
  local started, alone = has(j.flags, STARTED), true
  if has(j.fields, SHIELDED) and j.retries > 0 then started = false end -- guard: queue_shield
  alone = has(j.fields, ALONE) -- guard: queue_dies_alone
  j.flags = bit.bor(j.flags, LEASE_EXPIRED)
  if not started then
    j.lease_expiries = math.min(j.lease_expiries + 1, 255)
    annotate(s, id, j, ERROR, struct.pack('>I6BH', s.now, 3, 0))
    wait(s, id, j, s.now)
    add(s, 'lapsed', 1)
    return 1
  end
  j.crashes, j.errors = math.min(j.crashes + 1, 255), math.min(j.errors + 1, 65535)
  annotate(s, id, j, ERROR, struct.pack('>I6BH', s.now, 2, j.errors))
  add(s, 'crashed', 1)
  local exhausted = not (row_decides and j.version) and j.retries < 65535 and (j.errors > j.retries or alone and j.crashes >= crash_max)
  if exhausted then return mark_dead(s, id, j, has(j.flags, DISCARD)) + 1 end -- guard: queue_rescue_exhausted
  wait(s, id, j, s.now + math.min(delay * 2 ^ math.min(j.crashes - 1, 30), delay_max), alone)
  return 2
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', s.leased, '-inf', deadline, 'LIMIT', 0, ARGV[1])) do
  local j = open(s, head_of(s, id))
  redis.call('ZREM', s.leased, id)
  if j then fates[#fates + 1] = id .. string.char(rescue(id, j)) else add(s, 'ghosts', 1) end
end
announce(s)
save(s)
return { table.concat(fates), forget_silent(s, lease_now, tonumber(ARGV[5])) }
