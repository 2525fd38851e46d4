-- The clock of leases, and who holds a job.
-- Cost O(1).

-- Raw time plus every backward step seen, so that a clock set back does not prolong a lease.
local function lease_clock()
  if meta.seen > NOW then meta.back = meta.back + meta.seen - NOW end -- guard: queue_lease_clock
  call('HSET', META, 'seen', text(NOW), 'back', text(meta.back))
  return NOW + meta.back
end

-- The record of a delivery as far as it is looked at, and its size if that is the whole; nothing if somebody else has the job, or
-- nobody. `hold` is the delivery's fence (8) and token (16), as the head has them.
local function held(id, hold)
  local raw = call('GETRANGE', JOB .. id, '0', LOOK_LAST)
  if string.byte(raw, 1) ~= 1 then return nil end
  if string.sub(raw, 17, 40) ~= hold then
    local token = string.sub(raw, 25, 40)
    if token == NOBODY then return nil end
    if token ~= string.sub(hold, 9) then return nil end -- guard: queue_token
    if string.sub(raw, 17, 24) ~= string.sub(hold, 1, 8) then return nil end -- guard: queue_fence
  end
  return raw, #raw < LOOK_MAX and #raw or nil
end

-- The job of a delivery that is held.
local function current(id, hold)
  local raw, size = held(id, hold)
  if not raw then return nil end
  local j = open(raw)
  j.size = size
  return j
end
