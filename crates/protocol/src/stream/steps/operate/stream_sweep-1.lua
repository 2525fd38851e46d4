-- Removes up to 100 consumers that were silent and have no pending entry.
-- KEYS 1 partition    ARGV 1 group, 2 ms of silence
-- Replies {0} missing · {1, number}
-- Cost O(100 log n). Safe to repeat.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch then return { MISSING } end
check_types(s) -- guard: stream_types_checked
local removed = 0
for _, name in ipairs(redis.call('ZRANGEBYSCORE', s.seen, '-inf', text(lease_clock(s) - tonumber(ARGV[2])), 'LIMIT', 0, 100)) do
  local page = native('XPENDING', s.log, s.name, '-', '+', 1, name)
  if not page then return { MISSING } end
  local idle = true
  idle = #page == 0 -- guard: stream_sweep_pending
  if idle then
    redis.call('XGROUP', 'DELCONSUMER', s.log, s.name, name)
    redis.call('ZREM', s.seen, name)
    removed = removed + 1
  end
end
return { DONE, removed }
