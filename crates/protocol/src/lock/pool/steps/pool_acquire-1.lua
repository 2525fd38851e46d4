-- Acquires permits of a pool, if there are enough in addition to those of earlier requests.
-- KEYS 1 pool
-- ARGV 1 owner, 2 permits requested, 3 permits in all, 4 lease ms, 5 ms they may be held in all (0: no limit), 6 fence floor,
-- 7 waits (1 or 0), 8 metadata, 9 with a fence (1 or 0), 10 ms it has waited before it takes a place, 11 polls (1 or 0), 12 channel
-- Replies {1, lease left, fence, signer} granted · {0, ms, 0, ''} not before so many ms · {-1, permits in all, 0, ''} other pool size
-- · {2, 0, 0, ''} a poll: still in the queue, and no watch of the pool is due
-- Cost O(holders + waiting); a poll O(1), until a watch is due. Safe to repeat: an owner gets the reply of its grant.
local now = now_ms(KEYS[1])
local owner, requested, total, polls = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[11] == '1'
if polls and keep_place(now, KEYS[1], owner) then return { 2, 0, 0, '' } end
local pool = open(now, KEYS[1])
if pool.permits > 0 and pool.permits ~= total then return { -1, pool.permits, 0, '' } end -- guard: pool_permits_agree
local function granted(left)
  if ARGV[9] == '1' then return { 1, left, pool.fence, pool.signer } end
  return { 1, left, 0, owner }
end
local held = pool.holds[owner]
if held then return granted(held.ends - now) end -- guard: pool_acquire_repeat
local mine = ARGV[7] == '1' and place_for(now, pool, owner, tonumber(ARGV[10])) or pool.waits[owner]
local wait_ms = free_in(now, pool, owner, requested, total, mine)
tidy(KEYS[1], pool)
if wait_ms > 0 then
  if ARGV[7] == '1' then join_queue(now, KEYS[1], pool, owner, requested, mine) end
  if polls then watch(now, KEYS[1], pool, ARGV[12]) end
  return { 0, wait_ms, 0, '' }
end
redis.call('HDEL', KEYS[1], 'w' .. owner)
if ARGV[9] == '1' then mint(now, pool, owner, tonumber(ARGV[6])) end
local lease, hold = tonumber(ARGV[4]), tonumber(ARGV[5])
local taken = { permits = requested, since = now, limit = 0, metadata = ARGV[8] }
if hold > 0 then taken.limit, lease = now + hold, math.min(lease, hold) end
taken.ends, taken.lease = now + lease, lease
pool.permits = total
place_hold(KEYS[1], owner, taken)
save(KEYS[1], pool)
pool.holds[owner], pool.waits[owner], pool.used = taken, nil, pool.used + requested
if polls then watch(now, KEYS[1], pool, ARGV[12]) end
return granted(lease)
