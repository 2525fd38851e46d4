-- Shared by the steps: parses an entry, invalidates it and writes it back.
local NO_OWNER = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

local function drop_value(e)
  e.value, e.absent, e.stale, e.version, e.payload = false, false, false, nil, ''
  e.codec, e.compression, e.loaded_at, e.soft_until, e.hard_until = 0, 0, 0, 0, 0
end

-- The entry in `stored` after removing its expired parts, and its bytes; or nil and a reason: 'nothing', 'corrupt' or 'newer'.
local function open_stored(stored, now)
  if type(stored) == 'table' then -- GET returned an error: the key has another type, which the next write replaces
    if not string.find(stored.err, 'WRONGTYPE', 1, true) then error(stored) end
    return nil, 'corrupt' -- guard: foreign_type
  end
  local e, why = unpack_entry(stored)
  if not e then return nil, why end
  if e.ends_at <= now then return nil, 'nothing' end
  if not e.value then drop_value(e) end -- an expired value is kept for readers whose load fails
  local open = {}
  for _, window in ipairs(e.windows) do
    if window[2] > now then
      open[#open + 1] = window
    else -- expired without being ended: its writer is dead or late, and may commit until the window's suspect time has passed
      e.suspect_until = math.max(e.suspect_until, window[3]) -- guard: suspect_after_expiry
      e.invalidated_at = math.max(e.invalidated_at, window[3]) -- guard: suspect_on_replicas
    end
  end
  e.windows = open
  if e.suspect_until <= now then e.suspect_until = 0 end
  return e, stored
end

-- The same for the entry under `key`.
local function open_entry(key, now)
  local stored = redis.pcall('GET', key)
  if not stored then return nil, 'nothing' end
  return open_stored(stored, now)
end

-- An entry without a value. The floor and the last invalidation of an earlier entry under the key are lost. The ordinals begin at the current time, so that
-- they differ from those of an earlier entry even if a delayed copy of a lease restores that entry's generation.
local function create_entry(now, generation, schema, ends_at)
  local e = { schema = schema, generation = generation, granted = 0, filled = 0, ends_at = ends_at,
    floor = NO_VERSION, invalidated_at = 0, suspect_until = 0, windows = {} }
  e.granted = now % 0x80000000 -- guard: creation_ordinals
  e.filled = e.granted
  drop_value(e)
  return e
end

-- Invalidates every load granted so far: by the generation and, should a generation ever recur, by the ordinals.
local function begin_generation(e, generation)
  e.generation, e.granted, e.lease = generation, math.min(e.granted + 1, 0xFFFFFFFF), nil
  e.filled = e.granted -- guard: void_ordinals
end

-- Whether a replica that lags by at most `lag` may lack a write that was invalidated before `at`. A last invalidation that is not
-- known may be later.
local function may_lack_writes(e, lag, at)
  return lag > 0 and (e.invalidated_at == 0 or at < e.invalidated_at + lag)
end

-- `retain` nil is a purge; `floor` is 8 bytes or empty.
local function invalidate_entry(e, now, generation, floor, retain, lag)
  begin_generation(e, generation) -- guard: invalidate_generation
  -- If loaders read replicas; otherwise it stays unknown, which costs no space.
  if lag > 0 or e.invalidated_at > 0 then e.invalidated_at = math.max(e.invalidated_at, now) end -- guard: invalidated_at
  if #floor > 0 and is_older(e.floor, floor) then e.floor = floor end
  if not e.value then return drop_value(e) end
  if not retain then return drop_value(e) end -- guard: purge
  local hard_until = now + (retain or 0)
  hard_until = math.min(hard_until, e.hard_until) -- guard: hard_never_renewed
  if (retain or 0) == 0 then hard_until = 0 end -- guard: spent_at_once
  e.hard_until = hard_until
  e.stale = true -- guard: invalidate_stale
end

local function save_entry(key, e, now)
  redis.call('SET', key, pack_entry(e), 'PX', string.format('%d', e.ends_at - now))
end

-- Writes back an entry of which only the header was read. Its expiry has not changed. Most often the header has its length, and the
-- payload is not touched.
local function save_header(key, e, now)
  local head = pack_head(e)
  if e.value and #head == e.head_bytes then return redis.call('SETRANGE', key, 0, head) end
  local payload = e.value and string.sub(redis.call('GET', key), e.head_bytes + 1) or ''
  redis.call('SET', key, head .. payload, 'PX', string.format('%d', e.ends_at - now))
end
