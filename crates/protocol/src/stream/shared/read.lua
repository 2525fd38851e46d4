-- New entries of the log, and when to look again.
-- Cost O(limit log n).

-- The last entry of the log: a consumer waits for a later one.
local function tail(s)
  local last = redis.call('XREVRANGE', s.log, '+', '-', 'COUNT', 1)[1]
  return last and last[1] or '0-0'
end

local function pause_left(s)
  local paused = tonumber(s.group.paused)
  return paused >= FOREVER and -1 or paused - s.now
end

-- The ms until another read returns something. `skipped` and `cut`: the read skipped entries that were sent back to other groups, or ended
-- before the size of its reply allowed more, so later ones may be unread. Otherwise until an entry is due again, or its lease ends; -1 if there is none.
local function next_in(s, lease_now)
  if s.skipped then return 0 end -- guard: stream_skipped_read_again
  if s.cut then return 0 end
  local due = s.group.has_failed and tonumber(redis.call('ZRANGE', s.due, 0, 0, 'WITHSCORES')[2])
  local ends = tonumber(redis.call('ZRANGE', s.leased, 0, 0, 'WITHSCORES')[2])
  local first = math.min(due and math.max(due - s.now, 0) or FOREVER, ends and math.max(ends - lease_now, 0) or FOREVER)
  return first < FOREVER and first or -1
end

-- Delivers a part of the entries for the first time; returns how many it has read, nil if the group is missing. An entry that was sent back
-- to another group is skipped.
local function read_part(s, out, me, limit, new)
  local streams = native('XREADGROUP', 'GROUP', s.name, me, 'COUNT', limit, 'STREAMS', s.log, '>')
  if streams == nil then return nil end
  local all = streams and streams[1][2] or {}
  for _, found in ipairs(all) do
    local id, fields = found[1], found[2]
    local only, skips = #fields > 4 and value(fields, 'g'), false
    skips = only and only ~= s.name -- guard: stream_only_its_group
    if skips then
      s.skipped = true
      redis.call('XACK', s.log, s.name, id)
    else
      deliver(s, out, id, fields, 1, -1, false)
      new[#new + 1] = id
    end
  end
  return #all
end

-- Delivers entries for the first time; false if the group is missing.
local function read_new(s, out, me, limit, deadline)
  local new, leased = {}, {}
  while limit > 0 do
    s.cut = is_full(s, BYTES_MAX)
    if s.cut then break end
    local part = math.min(limit, PART)
    local found = read_part(s, out, me, part, new)
    if not found then return false end
    limit = limit - part
    if found < part then break end
  end
  if s.group.mode == BY_PARTITION or #new == 0 then return true end
  -- The last one first: a small sorted set is searched from its begin for each.
  local ends = text(deadline)
  for at = #new, 1, -1 do
    leased[#leased + 1] = ends
    leased[#leased + 1] = new[at]
  end
  redis.call('ZADD', s.leased, unpack(leased))
  return true
end
