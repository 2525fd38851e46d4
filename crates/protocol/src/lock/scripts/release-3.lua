-- Releases a lock if the caller still holds it, and notifies the process that has waited longest.
-- KEYS 1 lock, 2 fence, 3 waiters    ARGV 1 owner, 2 process, 3 the process itself keeps waiting (1 or 0), 4 channel
-- Replies {1, other waiting processes} released · {0, 0} lost · {-1, 0} not held: its lease ended, or this call is a repeat
-- Cost O(log waiting processes). Safe to repeat: a repeat finds nothing and replies so.
local s = call_of(KEYS[1])
local stored = redis.call('MGET', KEYS[1], KEYS[2])
local held, last, turn, turn_ends = opened(s, stored[1]), ledger(s, stored[2])
if not held then return { -1, 0 } end
if held.owner ~= ARGV[1] then return { 0, 0 } end -- guard: lock_release_owner
if s.now >= held.ends then return { 0, 0 } end -- guard: lock_release_ended
local waiting = turn_ends > 0 and others(s, KEYS[3], ARGV[2]) or 0
redis.call('DEL', KEYS[1])
if ARGV[3] == '1' then wait(s, KEYS[3], ARGV[2], KEYS[2], last, turn, turn_ends) end
if waiting > 0 then
  local called = ''
  local first = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. s.now, '+inf', 'LIMIT', 0, 2)
  called = first[1] ~= ARGV[2] and first[1] or first[2] -- guard: lock_release_calls_one
  -- Notified only once: if it does not respond, it has died or no longer waits.
  if called ~= '' then redis.call('ZADD', KEYS[3], s.now + TURN_MS, called) end -- guard: lock_called_once
  note(KEYS[2], held.fence, ARGV[2], s.now + TURN_MS) -- guard: lock_turn
  redis.call('SPUBLISH', ARGV[4], ARGV[2] .. called) -- guard: lock_release_notifies
elseif turn_ends > 0 and redis.call('EXISTS', KEYS[3]) == 0 then
  note(KEYS[2], held.fence, NO_OWNER, 0)
end
return { 1, waiting }
