-- Enqueues ticks of a schedule, unless its last tick differs from the one that the caller has seen.
-- KEYS 1 shard    ARGV 1 schedule, 2 last tick seen ("" for none), 3 last tick after this, then for each job: id, when, record
-- Replies 1: done · 0: belongs to another shard · else the schedule's last tick, as text · or nothing: it has none
-- Cost O(log n) a job. A repeat finds its own last tick and changes nothing.
local s, key = shard_of(KEYS[1], ARGV, 'created'), KEYS[1] .. ':schedules'
check_types(s, s.wake) -- guard: queue_types_checked
local held = redis.call('HGET', key, ARGV[1])
if not held and elsewhere(s, ARGV[1]) then return 0 end
if (held or '') ~= ARGV[2] then return held end -- guard: queue_tick_once
for at = 4, #ARGV, 3 do
  local id, raw = ARGV[at], ARGV[at + 2]
  if not open(s, head_of(s, id)) then accept_record(s, id, due_at(s, ARGV[at + 1]), raw, open(s, raw)) end
end
redis.call('HSET', key, ARGV[1], ARGV[3])
announce(s)
save(s)
return 1
