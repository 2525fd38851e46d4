-- The state of a group, and the checks of a caller's tokens.
-- Cost O(1).
local FIELDS = { 'epoch', 'mode', 'owner', 'fence', 'ends', 'taken', 'paused', 'seen', 'back' }
local MISSING, DONE, STALE, OTHER_MODE, TAKE_OVER_FIRST, TAKEN = 0, 1, 2, 3, 4, 5
local BY_PARTITION, FOREVER = '1', 9007199254740991

-- What a call knows of its partition and its group. `has_failed`: whether the group may have failed entries; without them, nothing is
-- known of an entry but its lease. `bytes`: of the keys and records of the reply. `counts`: delivery counts by id; false stands for an
-- entry whose outcome this call has recorded.
local function group_of(tag, name)
  local s, key = log_of(tag), tag .. ':g:' .. name
  s.name, s.key, s.due, s.leased, s.tries, s.seen = name, key, key .. ':due', key .. ':leased', key .. ':tries', key .. ':seen'
  s.dead, s.parked, s.bytes, s.counts, s.group = key .. ':dead', key .. ':parked', 0, {}, { has_failed = true }
  for at, held in ipairs(redis.call('HMGET', key, unpack(FIELDS))) do s.group[FIELDS[at]] = held end
  return s
end

-- Whether the group may have failed entries, and that the keys of these have their types. Most groups lack all four, and one command shows that.
local function check_failed(s)
  s.group.has_failed = redis.call('EXISTS', s.due, s.tries, s.dead, s.parked) > 0
  if not s.group.has_failed then return end
  redis.call('ZCARD', s.due)
  redis.call('HLEN', s.tries)
  redis.call('XLEN', s.dead)
  redis.call('HLEN', s.parked)
end

-- Rejects the call, before it writes, if another program has put a value of another type under a key of the partition or the group.
local function check_types(s)
  redis.call('XLEN', s.log)
  redis.call('ZCARD', s.leased)
  redis.call('ZCARD', s.seen)
  check_failed(s)
end

-- The time plus the sum of its backward jumps, so that setting the clock back does not extend a lease.
local function lease_clock(s)
  local seen, back = tonumber(s.group.seen or s.now), tonumber(s.group.back or 0)
  if seen > s.now then back = back + seen - s.now end -- guard: stream_lease_clock
  redis.call('HSET', s.key, 'seen', text(s.now), 'back', text(back))
  return s.now + back
end

-- The reply to a caller who is not current; nil for one who is.
local function refused(s, consumer, fence, epoch)
  if not s.group.epoch then return MISSING end
  local leases_partition = fence ~= '0'
  if leases_partition ~= (s.group.mode == BY_PARTITION) then return OTHER_MODE end -- guard: stream_mode
  local owns = not leases_partition or (s.group.owner == consumer and s.group.fence == fence)
  if not owns then return STALE end -- guard: stream_partition_fence
  if s.group.epoch ~= epoch then return STALE end -- guard: stream_epoch
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

local function is_paused(s)
  return tonumber(s.group.paused or 0) > s.now
end
