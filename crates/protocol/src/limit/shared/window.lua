-- The bucket of a window: the tokens of its slots; and how buckets are stored. docs/spec/limit.md has the table of offsets.
local WINDOW, WINDOW_BYTES, COUNTED, RETAINED_MS = '>I6I5I6I4I4I4I4I4I4I4I4I4I4I4', 61, 11, 60000

-- Makes this slot the newest, unless a reservation is later.
local function window_advance(level, slot)
  local slots = slot - level.newest
  if slots <= 0 then return end
  for place = COUNTED, 1, -1 do level.counts[place] = level.counts[place - slots] or 0 end
  level.newest = slot
end

-- The bucket at `now`. One from the future was written before the clock was set back: its slots are moved back by the difference.
local function window_of(now, raw, most, slot_ms)
  local level = { most = most, slot_ms = slot_ms, newest = math.floor(now / slot_ms), counts = {} }
  for place = 1, COUNTED do level.counts[place] = 0 end
  if type(raw) ~= 'string' or #raw ~= WINDOW_BYTES then return level end
  local read = { struct.unpack(WINDOW, raw) }
  local at, was = read[1], read[2]
  if was < 1 then return level end
  level.newest, level.is_set_back = read[3], at > now
  if at > now then
    level.newest = level.newest - math.floor((at - now) / was) -- guard: limit_window_set_back
  end
  local sum = 0
  for place = 1, COUNTED do
    level.counts[place] = read[place + 3]
    sum = sum + read[place + 3]
  end
  local is_other = false
  is_other = was ~= slot_ms -- guard: limit_window_changed
  if is_other then
    -- All tokens count in the last of the slots that the newest one touches.
    level.newest = math.floor(((level.newest + 1) * was - 1) / slot_ms)
    for place = 1, COUNTED do level.counts[place] = place == 1 and sum or 0 end
  end
  window_advance(level, math.floor(now / slot_ms))
  return level
end

-- In how many milliseconds there are so many tokens. A call takes no place in front of a reservation, so only intervals that end in its
-- own slot matter.
local function window_wait(now, level, tokens)
  local counted, sum, slot = COUNTED - 1, tokens, level.newest
  counted = COUNTED -- guard: limit_window_oldest_slot
  for place = 1, counted do sum = sum + level.counts[place] end
  for place = counted, 1, -1 do
    if sum <= level.most then break end
    sum, slot = sum - level.counts[place], slot + 1
  end
  return math.max(0, slot * level.slot_ms - now)
end

-- Takes tokens at `time`; returns how many are left then.
local function window_debit(level, tokens, time)
  window_advance(level, math.floor(time / level.slot_ms))
  level.counts[1] = level.counts[1] + tokens
  local left = level.most
  for place = 1, COUNTED do left = left - level.counts[place] end
  return math.max(0, left)
end

-- Stores a bucket until it is full again, and a minute.
local function store(now, level)
  local raw, full
  if level.is_rate then
    raw, full = struct.pack(RATE, now, level.debt, level.token), now + math.ceil(level.debt / level.refill)
  else
    raw = struct.pack(WINDOW, now, level.slot_ms, level.newest, unpack(level.counts))
    full = (level.newest + COUNTED) * level.slot_ms
  end
  redis.call('SET', level.key, raw, 'PX', string.format('%.0f', full - now + RETAINED_MS))
end
