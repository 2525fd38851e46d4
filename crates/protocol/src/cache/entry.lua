-- What the steps share: the entry as a step finds it, what an invalidation does to it, and how it is left.
local NOBODY = string.rep('\0', 16)

local function drop_value(e)
  e.value, e.absent, e.stale, e.version, e.payload = false, false, false, nil, ''
  e.codec, e.compression, e.loaded_at, e.soft_until, e.hard_until = 0, 0, 0, 0, 0
end

-- The entry in `stored` without what time has ended, and its bytes; or nil and why: 'nothing', 'corrupt' or 'newer'.
local function open_stored(stored, now)
  if type(stored) == 'table' then -- GET was refused: the key holds another type, which the next write replaces
    if not string.find(stored.err, 'WRONGTYPE', 1, true) then error(stored) end
    return nil, 'corrupt' -- guard: foreign_type
  end
  local e, why = unpack_entry(stored)
  if not e then return nil, why end
  if e.ends_at <= now then return nil, 'nothing' end
  if not e.value then drop_value(e) end -- a spent value stays: a reader whose load fails may want it
  local open = {}
  for _, window in ipairs(e.windows) do
    if window[2] > now then
      open[#open + 1] = window
    else -- nobody ended it: its writer is dead or late, and may still commit until its suspect time is over
      e.suspect_until = math.max(e.suspect_until, window[3]) -- guard: suspect_after_lapse
    end
  end
  e.windows = open
  if e.suspect_until <= now then e.suspect_until = 0 end
  if e.guard_until <= now then e.guard_until = 0 end
  return e, stored
end

-- The same of the entry under `key`.
local function open_entry(key, now)
  local stored = redis.pcall('GET', key)
  if not stored then return nil, 'nothing' end
  return open_stored(stored, now)
end

-- An entry without a value. What it knew of older versions, if it existed before, is forgotten. Its ordinals begin at the
-- time: should a late copy of a lease bring a generation back, the ordinals of its first life are not those of its second.
local function create_entry(now, generation, schema, lag, ends_at)
  local e = { schema = schema, generation = generation, granted = 0, filled = 0, ends_at = ends_at, cold = false,
    floor = NO_VERSION, guard_until = 0, suspect_until = 0, windows = {} }
  e.granted = now % 0x80000000 -- guard: creation_ordinals
  e.filled = e.granted
  e.cold = lag > 0 -- guard: cold_rule
  drop_value(e)
  return e
end

-- Ends every load granted so far: by the generation, and (should a generation ever return) by their ordinals.
local function begin_generation(e, generation)
  e.generation, e.granted, e.lease = generation, math.min(e.granted + 1, 0xFFFFFFFF), nil
  e.filled = e.granted -- guard: void_ordinals
end

-- `keep` nil is a purge; `floor` is 8 bytes or empty.
local function invalidate_entry(e, now, generation, floor, keep, lag)
  begin_generation(e, generation) -- guard: invalidate_generation
  if #floor == 0 and lag > 0 then
    e.guard_until = math.max(e.guard_until, now + lag)
    e.ends_at = math.max(e.ends_at, e.guard_until)
  elseif #floor > 0 and is_older(e.floor, floor) then
    e.floor = floor
  end
  if not e.value then return drop_value(e) end
  if not keep then return drop_value(e) end -- guard: purge
  local hard_until = now + (keep or 0)
  hard_until = math.min(hard_until, e.hard_until) -- guard: hard_never_renewed
  if (keep or 0) == 0 then hard_until = 0 end -- guard: spent_at_once
  e.hard_until = hard_until
  e.stale = true -- guard: invalidate_stale
end

local function save_entry(key, e, now)
  redis.call('SET', key, pack_entry(e), 'PX', e.ends_at - now)
end

-- Leaves an invalidated entry. Where Redis is out of memory it is deleted instead, which ends every load too; but not with
-- another writer's window in it. Answers the refusal if neither could be done.
local function save_invalidated(key, e, now)
  local answer = redis.pcall('SET', key, pack_entry(e), 'PX', e.ends_at - now)
  if not answer.err then return nil end
  if #e.windows > 0 then return answer end
  redis.call('DEL', key) -- guard: invalidate_without_memory
end
