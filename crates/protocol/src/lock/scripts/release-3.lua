-- Releases a lock if the caller still holds it, and notifies the process that has waited longest.
-- KEYS 1 lock, 2 fence, 3 waiters    ARGV 1 owner, 2 process, 3 the process itself keeps waiting (1 or 0), 4 channel
-- Replies {1, other waiting processes} released · {0, 0} lost · {-1, 0} not held: its lease ended, or this call is a repeat
-- Cost O(log waiting processes). Safe to repeat: a repeat finds nothing and replies so.
local held = open(KEYS[1])
if not held then return { -1, 0 } end
if held.owner ~= ARGV[1] then return { 0, 0 } end -- guard: lock_release_owner
if now >= held.ends then return { 0, 0 } end -- guard: lock_release_ended
local waiting = others(KEYS[3], ARGV[2])
call('DEL', KEYS[1])
if ARGV[3] == '1' then wait(KEYS[3], ARGV[2]) end
if waiting > 0 then
  local called = ''
  local first = call('ZRANGEBYSCORE', KEYS[3], '(' .. now, '+inf', 'LIMIT', 0, 2)
  called = first[1] ~= ARGV[2] and first[1] or first[2] -- guard: lock_release_calls_one
  -- Notified only once: if it does not respond, it has died or no longer waits.
  if called ~= '' then call('ZADD', KEYS[3], now + TURN_MS, called) end -- guard: lock_called_once
  note(KEYS[2], held.fence, ARGV[2], now + TURN_MS) -- guard: lock_turn
  call('SPUBLISH', ARGV[4], ARGV[2] .. called) -- guard: lock_release_notifies
end
return { 1, waiting }
