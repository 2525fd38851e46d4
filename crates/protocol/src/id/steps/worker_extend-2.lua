-- Reserves time for the owner of a worker id, up to `ahead` from now, and renews its lease.
-- KEYS 1 scope, 2 its leases
-- ARGV 1 owner, 2 settings, 3 the caller's time, 4 worker, 5 ahead ms, 6 lease ms
-- Replies {1, worker, reserved from, reserved until, now, ''} extended · {0, 0, 0, 0, now, ''} lost: another owner, released, or its lease is
-- over · {-1, 0, 0, 0, 0, settings} other settings · {-2, 0, 0, 0, now, ''} the clocks are an hour apart
-- Cost O(log worker ids). Safe to repeat: reserved time only grows.
local scope, refused = open(KEYS[1], ARGV[2], tonumber(ARGV[3]))
if refused then return refused end
local row, now = row_of(KEYS[1], tonumber(ARGV[4])), scope.now
local lost = { 0, 0, 0, 0, now, '' }
if not row then return lost end
if row.owner ~= ARGV[1] then return lost end -- guard: id_extend_owner
if row.lease <= now then return lost end -- guard: id_extend_lease
if scope.is_apart then return { -2, 0, 0, 0, now, '' } end
local till = now + tonumber(ARGV[5])
till = math.max(till, row.till) -- guard: id_reserved_grows
row.till, row.lease = till, math.max(row.lease, now + tonumber(ARGV[6]))
save(scope, KEYS[2], tonumber(ARGV[4]), row)
return granted(scope, tonumber(ARGV[4]), row)
