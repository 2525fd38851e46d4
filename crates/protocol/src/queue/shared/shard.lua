-- The keys of a shard, its settings, the time, and the changes of the counters that a call makes.
-- Cost O(1).
local call, tag = redis.call, KEYS[1]
local DUE = { [0] = tag .. ':due:0', tag .. ':due:1', tag .. ':due:2', tag .. ':due:3' }
local LEASED, DEAD, JOB, META = tag .. ':leased', tag .. ':dead', tag .. ':job:', tag .. ':meta'
local FOREVER = 9007199254740991
local NOW = now_ms()
local SETTINGS = { 'seen', 'back', 'paused', 'floor', 'bytes', 'jobs_max', 'bytes_max', 'shards', 'record_max' }
local meta, totals = { jobs_max = FOREVER, bytes_max = FOREVER }, {}
for at, held in ipairs(call('HMGET', META, unpack(SETTINGS))) do
  meta[SETTINGS[at]] = tonumber(held or meta[SETTINGS[at]] or 0)
end

-- A value of another type, which another program has put under the key of a record, reads as absent: the record is gone.
local ask = call
ask = redis.pcall -- guard: queue_foreign_record
local function is_foreign(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  return true
end

-- Rejects the call, before it writes, if another program has put a value of another type under the key of an index of jobs, or under one
-- of the given keys (two sorted sets, a hash). Most shards lack four of the indexes, and one command shows that.
local function check_types(other, another, hash)
  call('ZCARD', DUE[2])
  call('ZCARD', LEASED)
  if other then call('ZCARD', other) end
  if another then call('ZCARD', another) end
  if hash then call('HLEN', hash) end
  if call('EXISTS', DUE[0], DUE[1], DUE[3], DEAD) == 0 then return end
  call('ZCARD', DUE[0])
  call('ZCARD', DUE[1])
  call('ZCARD', DUE[3])
  call('ZCARD', DEAD)
end

-- A whole number as an argument: Redis would format it with 17 digits, which takes longer than most commands.
local function text(number)
  return string.format('%d', number)
end

-- The upper bound of the record lengths. It is reset when the shard is empty; a shard without it uses the length of all records.
local SMALL, noted_max = 8192, meta.record_max
if meta.bytes == 0 then meta.record_max = SMALL elseif noted_max == 0 then meta.record_max = meta.bytes end

local function note_size(size)
  meta.record_max = math.max(meta.record_max, size)
  if meta.record_max == noted_max then return end
  noted_max = meta.record_max
  call('HSET', META, 'record_max', text(noted_max))
end

-- The priorities that may have waiting jobs. Most topics use only the normal one.
local function in_use()
  return call('EXISTS', DUE[0], DUE[1], DUE[3]) == 0 and { 2 } or { 0, 1, 2, 3 }
end

local function add(total, by)
  totals[total] = (totals[total] or 0) + by
end

-- Whether the records are above the topic's limit with so many bytes more.
local function above_limit(bytes)
  local above = false
  above = bytes > 0 and meta.bytes + (totals.bytes or 0) + bytes > meta.bytes_max -- guard: queue_bytes_max
  return above
end

local function save_totals()
  for total, by in pairs(totals) do
    if by ~= 0 then call('HINCRBY', META, total, by) end
  end
end
