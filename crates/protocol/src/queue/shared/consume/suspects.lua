-- The number of suspects that a worker's process may run: all of one level, and a quarter as many with each level.
-- A suspect without a free slot is delayed, so that the jobs after it are claimed. Cost O(1).
local PUT_OFF_MS, PUT_OFF_MAX = 100, 100

-- The slots of the process (0: it accepts no suspect), the level of its running suspects, and their number: three arguments.
local function room_of(s, at)
  return { slots = tonumber(s.argv[at]), level = tonumber(s.argv[at + 1]), running = tonumber(s.argv[at + 2]), put_off = 0 }
end

-- 0 for a job that is not a suspect.
local function suspicion(crashes, lease_expiries)
  return crashes + (lease_expiries > 1 and 1 or 0)
end

local function has_room(room, level)
  local free = true
  local suspects_max = math.max(1, math.floor(room.slots / 4 ^ math.min(level, 16)))
  free = room.slots > 0 and (room.running == 0 or room.level == level) and room.running < suspects_max -- guard: queue_suspect_places
  return free
end

local function take_place(room, level)
  room.level, room.running = level, room.running + 1
end

local function put_off(s, id, room, later)
  room.put_off = room.put_off + 1
  later[#later + 1], later[#later + 2] = text(s.now + PUT_OFF_MS), id
end
