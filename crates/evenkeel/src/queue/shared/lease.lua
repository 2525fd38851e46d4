-- The clock of leases, and who holds a job.
-- Cost O(1).

-- Raw time plus every backward step seen, so that a clock set back does not prolong a lease.
local function lease_clock()
  if meta.seen > NOW then meta.back = meta.back + meta.seen - NOW end -- guard: queue_lease_clock
  call('HSET', META, 'seen', text(NOW), 'back', text(meta.back))
  return NOW + meta.back
end

-- The job of a delivery, unless somebody else has it, or nobody.
local function current(id, token, fence)
  local raw = call('GETRANGE', JOB .. id, '0', LOOK_LAST)
  local j = open(raw)
  if not j or j.token == NOBODY then return nil end
  if j.token ~= token then return nil end -- guard: queue_token
  if j.fence ~= fence then return nil end -- guard: queue_fence
  if #raw <= tonumber(LOOK_LAST) then j.size = #raw end
  return j
end
