-- Reads and writes a pool: permits that several hold at once, and the queue of those who wait; docs/spec/lock.md has the tables
-- of offsets. Cost O(holders + waiting), at most 500 of each.
local call, now = redis.call, now_ms()
local HEAD, HOLD, PLACE = '>I4I8c16I6', '>I4I6I4I6I6', '>I4I6I6I6'
local KEPT_MS, WAITING_MS, TURN_MS, WAITERS_MAX = 172800000, 2000, 10000, 500

-- Nothing of a lease that is over. A lease from the future was written before the clock was set back.
local function hold_of(raw)
  if not raw then return nil end
  local h = { words = string.sub(raw, 27) }
  h.permits, h.ends, h.lease, h.since, h.limit = struct.unpack(HOLD, raw)
  h.from_future = h.ends > now + h.lease
  if h.from_future then h.ends = now + h.lease end -- guard: pool_lease_from_future
  if now >= h.ends then return nil end -- guard: pool_lease_ends
  return h
end

-- Nothing of somebody who has been silent. Keeps back who asked later for a turn, lets them pass for a turn, and so on.
local function place_of(raw)
  local w = { keeps = true }
  w.permits, w.place, w.asked, w.till = struct.unpack(PLACE, raw)
  w.till, w.asked = math.min(w.till, now + WAITING_MS), math.min(w.asked, now)
  if now >= w.till then return nil end
  local turns = math.floor((now - w.asked) / TURN_MS)
  w.keeps = turns % 2 == 0 -- guard: pool_turns_end
  w.keeps_till = math.min(w.till, w.asked + (turns + 1) * TURN_MS)
  return w
end

local function open(key)
  local pool = { permits = 0, fence = 0, signer = string.rep('\0', 16), places = 0 }
  pool.holds, pool.waits, pool.over, pool.used, pool.waiting = {}, {}, {}, 0, 0
  local raw = call('HGETALL', key)
  for i = 1, #raw, 2 do
    local kind, owner = string.sub(raw[i], 1, 1), string.sub(raw[i], 2)
    local hold, wait = kind == 'h' and hold_of(raw[i + 1]), kind == 'w' and place_of(raw[i + 1])
    if kind == 'p' then
      pool.permits, pool.fence, pool.signer, pool.places = struct.unpack(HEAD, raw[i + 1])
    elseif hold then
      pool.holds[owner], pool.used = hold, pool.used + hold.permits
    elseif wait then
      pool.waits[owner], pool.waiting = wait, pool.waiting + 1
    else
      pool.over[#pool.over + 1] = raw[i]
    end
  end
  return pool
end

local function save(key, pool)
  call('HSET', key, 'p', struct.pack(HEAD, pool.permits, pool.fence, pool.signer, pool.places))
  call('PEXPIRE', key, KEPT_MS)
end

local function place_hold(key, owner, h)
  call('HSET', key, 'h' .. owner, struct.pack(HOLD, h.permits, h.ends, h.lease, h.since, h.limit) .. h.words)
end

-- Tells those whose turn it is now, by their names.
local function tell(channel, pool)
  local queue, free, named = {}, pool.permits - pool.used, {}
  for owner, w in pairs(pool.waits) do queue[#queue + 1] = { owner, w } end
  table.sort(queue, function(a, b) return a[2].place < b[2].place end)
  for _, entry in ipairs(queue) do
    if entry[2].permits <= free then named[#named + 1] = entry[1] end
    if entry[2].keeps then free = free - entry[2].permits end
  end
  if #named > 0 then call('SPUBLISH', channel, table.concat(named)) end -- guard: pool_release_tells
end

local function shown(owner, h)
  return { owner, h.permits, h.ends - now, math.max(now - h.since, 0), h.words }
end
