-- New entries of the log, and when to look again.
-- Cost O(limit log n).

-- The last entry of the log: a consumer waits for a later one.
local function tail()
  local last = call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
  return last and last[1] or '0-0'
end

local function pause_left()
  local paused = tonumber(g.paused)
  return paused >= FOREVER and -1 or paused - NOW
end

-- Whether a read skipped entries that were sent back to other groups, or ended before the size of its reply allowed more: later ones may
-- be unread.
local skipped, cut = false, false

-- The ms until another read returns something: until an entry is due again, or its lease ends; -1 if there is none.
local function next_in(lease_now)
  if skipped then return 0 end -- guard: stream_skipped_read_again
  if cut then return 0 end
  local due = tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
  local ends = tonumber(call('ZRANGE', LEASED, 0, 0, 'WITHSCORES')[2])
  local first = math.min(due and math.max(due - NOW, 0) or FOREVER, ends and math.max(ends - lease_now, 0) or FOREVER)
  return first < FOREVER and first or -1
end

-- Delivers a part of the entries for the first time; returns how many it has read, nil if the group is missing. An entry that was sent back
-- to another group is skipped.
local function read_part(out, me, limit, new)
  local streams = native('XREADGROUP', 'GROUP', group, me, 'COUNT', limit, 'STREAMS', LOG, '>')
  if streams == nil then return nil end
  local all = streams and streams[1][2] or {}
  for _, found in ipairs(all) do
    local id, fields = found[1], found[2]
    local only, skips = #fields > 4 and value(fields, 'g'), false
    skips = only and only ~= group -- guard: stream_only_its_group
    if skips then
      skipped = true
      call('XACK', LOG, group, id)
    else
      deliver(out, id, fields, 1, -1, false)
      new[#new + 1] = id
    end
  end
  return #all
end

-- Delivers entries for the first time; false if the group is missing.
local function read_new(out, me, limit, deadline)
  local new, leased = {}, {}
  while limit > 0 do
    cut = is_full(BYTES_MAX)
    if cut then break end
    local part = math.min(limit, PART)
    local found = read_part(out, me, part, new)
    if not found then return false end
    limit = limit - part
    if found < part then break end
  end
  if g.mode == BY_PARTITION or #new == 0 then return true end
  -- The last one first: a small sorted set is searched from its begin for each.
  local ends = text(deadline)
  for at = #new, 1, -1 do
    leased[#leased + 1] = ends
    leased[#leased + 1] = new[at]
  end
  call('ZADD', LEASED, unpack(leased))
  return true
end
