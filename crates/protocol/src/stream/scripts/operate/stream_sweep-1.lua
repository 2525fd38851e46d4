-- Removes up to 100 consumers that were silent and have no pending entry.
-- KEYS 1 partition    ARGV 1 group, 2 ms of silence
-- Replies {0} missing · {1, number}
-- Cost O(100 log n). Safe to repeat.
if not g.epoch then return { MISSING } end
check_types() -- guard: stream_types_checked
local removed = 0
for _, name in ipairs(call('ZRANGEBYSCORE', SEEN, '-inf', text(lease_clock() - tonumber(ARGV[2])), 'LIMIT', 0, 100)) do
  local page = native('XPENDING', LOG, group, '-', '+', 1, name)
  if not page then return { MISSING } end
  local idle = true
  idle = #page == 0 -- guard: stream_sweep_pending
  if idle then
    call('XGROUP', 'DELCONSUMER', LOG, group, name)
    call('ZREM', SEEN, name)
    removed = removed + 1
  end
end
return { DONE, removed }
