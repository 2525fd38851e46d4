-- The next due time, and the markers that wake consumers.
-- Cost O(log n).
local WAKE, MARKERS_MAX = tag .. ':wake', 8

-- The earliest due time, and those of the priorities in use.
local function earliest()
  local first, each = nil, {}
  for _, priority in ipairs(in_use()) do
    local due = tonumber(call('ZRANGE', DUE[priority], '0', '0', 'WITHSCORES')[2])
    each[priority] = due
    if due and (not first or due < first) then first = due end
  end
  return first, each
end

-- The earliest due time for consumers: not before a pause ends; -1 for none.
local function next_due(first)
  if not first or meta.paused >= FOREVER then return -1 end
  return meta.paused > NOW and math.max(first, meta.paused) or first
end

-- Adds markers for the due jobs, and one if the earliest due time has moved forward. Returns that time.
local function leave_markers(before, known)
  local first, each = known, nil
  if not known then first, each = earliest() end
  if not first or meta.paused > NOW then return first end
  local requested = (not before or first < before) and 1 or 0
  if first <= NOW then
    local ready = 0
    for priority = 0, 3 do
      local is_ready = ready < MARKERS_MAX and (not each or (each[priority] or FOREVER) <= NOW)
      if is_ready then ready = ready + call('ZCOUNT', DUE[priority], '-inf', text(NOW)) end
    end
    requested = math.min(math.max(requested, ready), MARKERS_MAX)
  end
  local left = requested > 0 and call('ZCARD', WAKE) or 0
  for marker = 1, MARKERS_MAX do
    if left >= requested then return first end
    left = left + call('ZADD', WAKE, 'NX', '0', text(marker)) -- guard: queue_wake_markers
  end
  return first
end
