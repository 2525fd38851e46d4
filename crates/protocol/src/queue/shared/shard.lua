-- What a call knows of its shard: the keys, the settings, the time, and the changes of the counters that it makes.
-- Cost O(1).

local FOREVER, SMALL = 9007199254740991, 8192
local SETTINGS = { 'seen', 'back', 'paused', 'floor', 'bytes', 'jobs_max', 'bytes_max', 'shards', 'record_max' }

-- `counter`: the one that the step raises; with it, a call writes all that it changes by one command.
local function shard_of(tag, argv, counter)
  local s = {
    tag = tag, argv = argv, now = now_ms(tag), meta_key = tag .. ':meta', job = tag .. ':job:',
    leased = tag .. ':leased', dead = tag .. ':dead', workers = tag .. ':workers', wake = tag .. ':wake',
    due = { [0] = tag .. ':due:0', tag .. ':due:1', tag .. ':due:2', tag .. ':due:3' },
    meta = { jobs_max = FOREVER, bytes_max = FOREVER }, totals = {}, fields = {}, added = {}, left = {},
  }
  local meta, held = s.meta, redis.call('HMGET', s.meta_key, counter or 'bytes', unpack(SETTINGS))
  for at, field in ipairs(SETTINGS) do meta[field] = tonumber(held[at + 1] or meta[field] or 0) end
  if counter then meta[counter] = tonumber(held[1] or 0) end
  -- The upper bound of the record lengths. It is reset when the shard is empty; a shard without it uses the length of all records.
  s.noted_max = meta.record_max
  if meta.bytes == 0 then meta.record_max = SMALL elseif s.noted_max == 0 then meta.record_max = meta.bytes end
  return s
end

-- A value of another type, which another program has put under the key of a record, reads as absent: the record is gone.
local function ask(...)
  local run = redis.call
  run = redis.pcall -- guard: queue_foreign_record
  return run(...)
end

local function is_foreign(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  return true
end

-- Rejects the call, before it writes, if another program has put a value of another type under the key of an index of jobs, or under one
-- of the given keys (two sorted sets, a hash). Most shards lack four of the indexes, and one command shows that.
local function check_types(s, other, another, hash)
  redis.call('ZCARD', s.due[2])
  redis.call('ZCARD', s.leased)
  if other then redis.call('ZCARD', other) end
  if another then redis.call('ZCARD', another) end
  if hash then redis.call('HLEN', hash) end
  if redis.call('EXISTS', s.due[0], s.due[1], s.due[3], s.dead) == 0 then return end
  redis.call('ZCARD', s.due[0])
  redis.call('ZCARD', s.due[1])
  redis.call('ZCARD', s.due[3])
  redis.call('ZCARD', s.dead)
end

-- A whole number as an argument: Redis would format it with 17 digits, which takes longer than most commands.
local function text(number)
  return string.format('%d', number)
end

-- Sets a field of the shard's hash when the call is over.
local function set(s, field, value)
  s.fields[#s.fields + 1] = field
  s.fields[#s.fields + 1] = value
end

local function note_size(s, size)
  s.meta.record_max = math.max(s.meta.record_max, size)
  s.sized = true
end

-- The priorities that may have waiting jobs. Most topics use only the normal one.
local function in_use(s)
  s.used = s.used or (redis.call('EXISTS', s.due[0], s.due[1], s.due[3]) == 0 and { 2 } or { 0, 1, 2, 3 })
  return s.used
end

-- Adds a job to the waiting ones of a priority.
local function add_waiting(s, priority, id, due)
  redis.call('ZADD', s.due[priority], text(due), id)
  local added = s.added[priority] or {}
  added[id], s.added[priority] = true, added
  if due <= s.now then added.ready = true end
  if priority ~= 2 then s.used = { 0, 1, 2, 3 } end
end

local function add(s, total, by)
  s.totals[total] = (s.totals[total] or 0) + by
end

-- The jobs that wait or are leased, if the topic limits their number.
local function count_working(s)
  if s.meta.jobs_max >= FOREVER then return 0 end
  local count = redis.call('ZCARD', s.leased)
  for priority = 0, 3 do count = count + redis.call('ZCARD', s.due[priority]) end
  return count
end

-- Whether the records are above the topic's limit with so many bytes more.
local function above_limit(s, bytes)
  local above = false
  above = bytes > 0 and s.meta.bytes + (s.totals.bytes or 0) + bytes > s.meta.bytes_max -- guard: queue_bytes_max
  return above
end

-- Writes what the call has changed: settings and counters.
local function save(s)
  if s.sized and s.meta.record_max ~= s.noted_max then set(s, 'record_max', text(s.meta.record_max)) end
  for total, by in pairs(s.totals) do
    local held = s.meta[total]
    if by ~= 0 and held then
      set(s, total, text(held + by))
    elseif by ~= 0 then
      redis.call('HINCRBY', s.meta_key, total, by)
    end
  end
  if #s.fields > 0 then redis.call('HSET', s.meta_key, unpack(s.fields)) end
end
