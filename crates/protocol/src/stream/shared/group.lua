-- The state of a group, and the checks of a caller's tokens.
-- Cost O(1).
local group = ARGV[1]
local G = tag .. ':g:' .. group
local DUE, LEASED, TRIES, SEEN = G .. ':due', G .. ':leased', G .. ':tries', G .. ':seen'
local DEAD, PARKED = G .. ':dead', G .. ':parked'
local FIELDS = { 'epoch', 'mode', 'owner', 'fence', 'ends', 'taken', 'paused', 'seen', 'back' }
local MISSING, DONE, STALE, OTHER_MODE, TAKE_OVER_FIRST, TAKEN = 0, 1, 2, 3, 4, 5
local BY_PARTITION, FOREVER = '1', 9007199254740991
local g = {}
for at, held in ipairs(call('HMGET', G, unpack(FIELDS))) do g[FIELDS[at]] = held end

-- Whether the group may have failed entries. Without them, nothing is known of an entry but its lease.
g.has_failed = true

-- Rejects the call, before it writes, if another program has put a value of another type under a key of the partition or the group.
-- Most groups lack four of the keys, and one command shows that.
local function check_types()
  call('XLEN', LOG)
  call('ZCARD', LEASED)
  call('ZCARD', SEEN)
  g.has_failed = call('EXISTS', DUE, TRIES, DEAD, PARKED) > 0
  if not g.has_failed then return end
  call('ZCARD', DUE)
  call('HLEN', TRIES)
  call('XLEN', DEAD)
  call('HLEN', PARKED)
end

-- The time plus the sum of its backward jumps, so that setting the clock back does not extend a lease.
local function lease_clock()
  local seen, back = tonumber(g.seen or NOW), tonumber(g.back or 0)
  if seen > NOW then back = back + seen - NOW end -- guard: stream_lease_clock
  call('HSET', G, 'seen', text(NOW), 'back', text(back))
  return NOW + back
end

-- The reply to a caller who is not current; nil for one who is.
local function refused(consumer, fence, epoch)
  if not g.epoch then return MISSING end
  local leases_partition = fence ~= '0'
  if leases_partition ~= (g.mode == BY_PARTITION) then return OTHER_MODE end -- guard: stream_mode
  local owns = not leases_partition or (g.owner == consumer and g.fence == fence)
  if not owns then return STALE end -- guard: stream_partition_fence
  if g.epoch ~= epoch then return STALE end -- guard: stream_epoch
end

-- The name under which Redis has the entries that a consumer holds: each lease of a partition has a name of its own.
local function name_of(consumer, fence)
  return fence == '0' and consumer or consumer .. '-' .. fence
end

-- A command on the consumer group of the log; nil if Redis has lost the log or the group.
local function native(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'NOGROUP', 1, true) then error(reply) end
end

local function is_paused()
  return tonumber(g.paused or 0) > NOW
end
