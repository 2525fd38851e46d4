-- The lease clock, and the check of a delivery.
-- Cost O(1).

-- The time plus the sum of its backward jumps, so that setting the clock back does not extend a lease.
local function lease_clock(s)
  if s.meta.seen > s.now then s.meta.back = s.meta.back + s.meta.seen - s.now end -- guard: queue_lease_clock
  set(s, 'seen', text(s.now))
  set(s, 'back', text(s.meta.back))
  return s.now + s.meta.back
end

-- The first bytes of a delivery's record, and its size if these are all; nil if the delivery is not current.
-- `hold` is the delivery's fence (8) and token (16), as in the head.
local function held(s, id, hold)
  local raw = bytes_of(s.job .. id, LOOK_LAST)
  if string.byte(raw, 1) ~= 1 then return nil end
  if string.sub(raw, 17, 40) ~= hold then
    local token = string.sub(raw, 25, 40)
    if token == NO_OWNER then return nil end
    if token ~= string.sub(hold, 9) then return nil end -- guard: queue_token
    if string.sub(raw, 17, 24) ~= string.sub(hold, 1, 8) then return nil end -- guard: queue_fence
  end
  return raw, #raw < LOOK_MAX and #raw or nil
end

-- The job of a current delivery.
local function current(s, id, hold)
  local raw, size = held(s, id, hold)
  if not raw then return nil end
  local j = open(s, raw)
  j.size = size
  return j
end
