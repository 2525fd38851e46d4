-- Leases due jobs: by priority, then by due time, then by id.
-- Returns id, fence, due, lease left, record of each; of a large record its head and its length. Cost O(limit log n).
-- Records above INLINE_MAX are read by the worker in pieces; a claim returns at most CLAIM_MAX bytes, but at least one job.
local INLINE_MAX, INLINE_LAST, CLAIM_MAX = 65536, '65535', 4194304

-- The part of a record that a claim returns, and the length of the record.
local function looked_up(key)
  local raw = bytes_of(key, INLINE_LAST)
  if #raw < INLINE_MAX then return raw, #raw end
  local size, last = redis.call('STRLEN', key), '-1'
  if size > INLINE_MAX then last = HEAD_LAST end -- guard: queue_large_body_left_behind
  return redis.call('GETRANGE', key, '0', last), size
end

local function travels(raw, size)
  return #raw < size and { raw, size } or raw
end

local function deliver_job(s, id, key, due, raw, size, lease, out)
  local fence, flags, fields = s.now * 1000, string.byte(raw, 2, 3)
  fence = math.max(fence, struct.unpack('>I8', raw, 17) + 1) -- guard: queue_fence_rises
  fence = math.max(fence, s.meta.floor + 1) -- guard: queue_fence_floor
  if has(flags, STARTED) or fields > FIELDS then
    redis.call('SETRANGE', key, '1', string.char(bit.band(flags, bit.bnot(STARTED)), bit.band(fields, FIELDS)))
  end
  redis.call('SETRANGE', key, '16', struct.pack('>I8c16', fence, lease.token))
  local n = #out
  out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = id, fence, due, lease.span, travels(raw, size)
  lease.taken[#lease.taken + 1] = id
  lease.leased[#lease.leased + 1], lease.leased[#lease.leased + 2] = lease.deadline, id
end

-- Returns whether the record is a job's, whether the job has expired, and its suspicion.
-- These are read from the head; decoding every record would take longer than the rest of a claim.
local function looked_at(s, raw)
  local format, _, fields, _, _, _, _, _, crashes, lease_expiries = string.byte(raw or '', 1, 10)
  if format ~= 1 then return nil, false, 0 end
  local late = false
  if has(fields, 1) and s.now > struct.unpack('>I6', raw, 41) then late = true end -- guard: queue_expired
  return true, late, late and 0 or suspicion(crashes, lease_expiries)
end

-- Claims one batch of one priority; returns true when the claim is complete.
local function claim_some(s, priority, limit, lease, out, gone, later)
  local horizon, keys = math.huge, {}
  horizon = s.now -- guard: queue_never_early
  -- With those after them that markers may be left for.
  local found = redis.call('ZRANGE', s.due[priority], '0', text(limit + MARKERS_MAX - 1), 'WITHSCORES')
  while #keys < limit and #found > 2 * #keys and tonumber(found[2 * #keys + 2]) <= horizon do keys[#keys + 1] = s.job .. found[2 * #keys + 1] end
  local records = lease.fits and #keys > 0 and redis.call('MGET', unpack(keys))
  for at = 1, 2 * #keys, 2 do
    local id, key, raw, size = found[at], keys[(at + 1) / 2], nil, 0
    if records then raw = records[(at + 1) / 2] else raw, size = looked_up(key) end
    local is_job, late, level = looked_at(s, raw)
    if level > 0 and not has_room(lease.room, level) then
      if lease.room.put_off == PUT_OFF_MAX then return true, limit end
      put_off(s, id, lease.room, later)
    else
      local full = is_job and not late and #out > 0 and lease.bytes + size > CLAIM_MAX
      if full then return true, limit end -- guard: queue_claim_bytes
      gone[#gone + 1], limit = id, limit - 1
      if not is_job then
        add(s, 'ghosts', 1)
      elseif late then
        finish(s, id, open(s, raw), EXPIRED)
      else
        lease.bytes = lease.bytes + size
        if level > 0 then take_place(lease.room, level) end
        deliver_job(s, id, key, found[at + 1], raw, size, lease, out)
      end
    end
  end
  if #later == 0 then s.left[priority] = left_of(s, found, 2 * #keys) end
  return false, limit
end

-- Claims from one priority; returns true when the claim is complete.
local function claim_from(s, priority, limit, lease, out)
  local index = s.due[priority]
  while limit > 0 do
    local gone, later, over = {}, {}, nil
    lease.leased = {}
    over, limit = claim_some(s, priority, limit, lease, out, gone, later)
    -- Before they leave the index: if that fails, no job is in none.
    if #lease.leased > 0 then redis.call('ZADD', s.leased, unpack(lease.leased)) end
    if #gone > 0 then redis.call('ZREM', index, unpack(gone)) end
    if #later > 0 then redis.call('ZADD', index, unpack(later)) end
    if over then return true, limit end
    if #later == 0 then return false, limit end
  end
  return false, limit
end
