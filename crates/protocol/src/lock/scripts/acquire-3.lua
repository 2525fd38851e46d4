-- Acquires a free lock for its owner, with a fencing token above all earlier ones.
-- KEYS 1 lock, 2 fence, 3 waiters
-- ARGV 1 owner, 2 process, 3 lease ms, 4 cooling ms, 5 ms it may be held in all (0: no limit), 6 fence floor, 7 waits (1 or 0), 8 metadata
-- Replies {fence, lease left, 1 if another program's value was replaced, else 0} granted
-- · {0, ms, 0} not before so many ms: held, cooling, or the turn of another process
-- Cost O(log waiting processes). Safe to repeat: an owner gets the reply of its grant.
local s = call_of(KEYS[1])
local stored = redis.call('MGET', KEYS[1], KEYS[2])
local held, last, turn, turn_ends = opened(s, stored[1]), ledger(s, stored[2])
if held and held.owner == ARGV[1] and s.now < held.ends then return { held.fence, held.ends - s.now, 0 } end -- guard: lock_acquire_repeat
local wait_ms = 0
if held then wait_ms = held.ends + held.cooling - s.now end
if wait_ms <= 0 and turn == ARGV[2] and s.now < turn_ends and others(s, KEYS[3], turn) > 0 then
  wait_ms = turn_ends - s.now
end
if wait_ms > 0 then
  if held and held.from_future then place(s, KEYS[1], held) end
  if ARGV[7] == '1' then wait(s, KEYS[3], ARGV[2], KEYS[2], last, turn, turn_ends) end
  return { 0, wait_ms, 0 }
end
local lease, hold = tonumber(ARGV[3]), tonumber(ARGV[5])
local limit = 0
if hold > 0 then
  limit = s.now + hold
  lease = math.min(lease, hold)
end
local fence = 1
fence = math.max(fence, last + 1) -- guard: lock_fence_previous
fence = math.max(fence, s.now * 1000) -- guard: lock_fence_time
fence = math.max(fence, tonumber(ARGV[6]) + 1) -- guard: lock_fence_floor
if turn_ends > 0 then strange(s, ask('ZREM', KEYS[3], ARGV[2])) end
note(KEYS[2], fence, NO_OWNER, math.min(turn_ends, WAITED))
local taken = { metadata = ARGV[8] }
taken.owner, taken.fence, taken.ends, taken.lease = ARGV[1], fence, s.now + lease, lease
taken.cooling, taken.since, taken.limit = tonumber(ARGV[4]), s.now, limit
place(s, KEYS[1], taken)
return { fence, lease, s.is_foreign and 1 or 0 }
