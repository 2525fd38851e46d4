-- The markers that wake consumers: one for each job that is due, at most 8, and one if a job that the call has added is the first of its
-- priority, so that a consumer sets its timer. Cost O(log n).
local MARKERS_MAX = 8

-- The first job of a priority, and its due time.
local function first_of(s, priority)
  local left = s.left[priority]
  if left then return left.id, left.due end
  local first = redis.call('ZRANGE', s.due[priority], '0', '0', 'WITHSCORES')
  return first[1], tonumber(first[2])
end

-- What a claim leaves of the members that it has read: the first job, its due time, and the number of due jobs, up to MARKERS_MAX.
local function left_of(s, found, taken)
  local left = { id = found[taken + 1], due = tonumber(found[taken + 2]), ready = 0 }
  for at = taken + 2, #found, 2 do
    if tonumber(found[at]) <= s.now then left.ready = left.ready + 1 end
  end
  return left
end

-- The number of due jobs of a priority; without one, whether the first job was added by this call.
local function ready_in(s, priority, id, due)
  local added, left = s.added[priority] or {}, s.left[priority]
  if left and left.ready > 0 then return left.ready, false end
  if not left and (added.ready or (due and due <= s.now)) then return redis.call('ZCOUNT', s.due[priority], '-inf', text(s.now)), false end
  return 0, id and added[id] or false
end

-- Fills the markers up to a number. They are popped in the order of their scores, so that those that are left have the lowest numbers.
-- Another program's value under their key costs the wake-ups: consumers poll.
local function fill_markers(s, number)
  if number == 0 or s.meta.paused > s.now then return end
  local markers = {}
  for marker = 1, math.min(number, MARKERS_MAX) do markers[2 * marker - 1], markers[2 * marker] = text(-marker), text(marker) end
  is_foreign(redis.pcall('ZADD', s.wake, 'NX', unpack(markers))) -- guard: queue_wake_markers
end

-- For the priorities to which the call has added jobs.
local function announce(s)
  local ready, is_first = 0, false
  for priority, added in pairs(s.added) do
    local id, due
    if not added.ready then id, due = first_of(s, priority) end
    local number, first = ready_in(s, priority, id, due)
    ready, is_first = ready + number, is_first or first
  end
  fill_markers(s, math.max(ready, is_first and 1 or 0))
end

-- For all priorities; returns the earliest due time.
local function leave_markers(s)
  local ready, is_first, earliest = 0, false, nil
  for _, priority in ipairs(in_use(s)) do
    local id, due = first_of(s, priority)
    if due and (not earliest or due < earliest) then earliest = due end
    if due and s.meta.paused <= s.now and ready < MARKERS_MAX then
      local number, first = ready_in(s, priority, id, due)
      ready, is_first = ready + number, is_first or first
    end
  end
  fill_markers(s, math.max(ready, is_first and 1 or 0))
  return earliest
end

-- The earliest due time.
local function earliest_due(s)
  local earliest
  for _, priority in ipairs(in_use(s)) do
    local _, due = first_of(s, priority)
    if due and (not earliest or due < earliest) then earliest = due end
  end
  return earliest
end

-- The earliest due time for consumers: not before a pause ends; -1 for none.
local function next_due(s, first)
  if not first or s.meta.paused >= FOREVER then return -1 end
  return s.meta.paused > s.now and math.max(first, s.meta.paused) or first
end
