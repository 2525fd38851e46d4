-- Gives a lock back if the caller still holds it, and calls the process that asked for it longest ago.
-- KEYS 1 lock, 2 fence, 3 waiters    ARGV 1 owner, 2 process, 3 goes on waiting itself (1 or 0), 4 channel
-- Replies {1, other processes that wait} released · {0, 0} lost · {-1, 0} nothing is held: it ended, or this call is a repeat
-- Cost O(log waiting processes). Safe to repeat: a repeat finds nothing and says so.
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
  -- If it does not come, it has died or waits no more: it is called once.
  if called ~= '' then call('ZADD', KEYS[3], now + TURN_MS, called) end -- guard: lock_called_once
  note(KEYS[2], held.fence, ARGV[2], now + TURN_MS) -- guard: lock_turn
  call('SPUBLISH', ARGV[4], ARGV[2] .. called) -- guard: lock_release_tells
end
return { 1, waiting }
