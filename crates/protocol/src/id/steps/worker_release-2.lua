-- Ends the lease of a worker id. Its reserved time stays reserved, and its owner extends no more.
-- KEYS 1 scope, 2 its leases    ARGV 1 owner, 2 settings, 3 the caller's time, 4 worker
-- Replies {1, worker, reserved from, reserved until, now, ''} released · {0, 0, 0, 0, now, ''} another owner has it, or it was released
-- · {-1, 0, 0, 0, 0, settings} other settings
-- Cost O(log worker ids). Safe to repeat.
local scope, refused = open(KEYS[1], ARGV[2], tonumber(ARGV[3]))
if refused then return refused end
local worker = tonumber(ARGV[4])
local row = row_of(KEYS[1], worker)
if not row or row.owner ~= ARGV[1] or row.lease <= scope.now then return { 0, 0, 0, 0, scope.now, '' } end
forget(KEYS[1], row.owner, worker)
row.lease = scope.now -- guard: id_release_ends_lease
save(scope, KEYS[2], worker, row)
return granted(scope, worker, row)
