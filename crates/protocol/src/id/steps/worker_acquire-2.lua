-- Leases a worker id: the one whose lease is over for the longest time, or a new one. Its reserved time begins above everything that was
-- reserved before, also by owners that this server has forgotten.
-- KEYS 1 scope, 2 its leases
-- ARGV 1 owner, 2 settings, 3 the caller's time, 4 worker ids in all, 5 ahead ms, 6 lease ms, 7 margin ms
-- Replies {1, worker, reserved from, reserved until, now, ''} leased · {0, ms until a lease ends, 0, 0, now, ''} all are leased
-- · {-1, 0, 0, 0, 0, settings} other settings · {-2, 0, 0, 0, now, ''} the clocks are an hour apart
-- Cost O(log worker ids). Safe to repeat: an owner gets the reply of its lease.
local scope, refused = open(KEYS[1], ARGV[2], tonumber(ARGV[3]))
if refused then return refused end
local owner, ahead, margin, now = ARGV[1], tonumber(ARGV[5]), tonumber(ARGV[7]), scope.now
local known = redis.call('HGET', KEYS[1], 'o' .. owner)
local mine = known and row_of(KEYS[1], tonumber(known))
if mine and mine.lease > now then return granted(scope, tonumber(known), mine) end -- guard: id_acquire_repeat
if scope.is_apart then return { -2, 0, 0, 0, now, '' } end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local count = redis.call('ZCARD', KEYS[2])
local is_over, worker, row = first[1] and tonumber(first[2]) <= now, count, nil
if is_over then worker = tonumber(first[1]) end
if not is_over and count >= tonumber(ARGV[4]) then return { 0, tonumber(first[2]) - now, 0, 0, now, '' } end -- guard: id_workers_bound
row = row_of(KEYS[1], worker) or { till = 0 }
if row.owner then forget(KEYS[1], row.owner, worker) end
local from = math.max(now, row.till)
from = math.max(from, now + ahead + margin) -- guard: id_above_forgotten
row = { owner = owner, lease = now + tonumber(ARGV[6]), from = from, till = from }
redis.call('HSET', KEYS[1], 'o' .. owner, worker)
save(scope, KEYS[2], worker, row)
return granted(scope, worker, row)
