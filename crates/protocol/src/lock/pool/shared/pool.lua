-- Reads and writes a pool: permits that several owners hold at once, and the queue of waiters; docs/spec/lock.md has the tables
-- of offsets. Cost O(holders + waiting), at most 500 of each.
local HEAD, HOLD, PLACE = '>I4I8c16I6', '>I4I6I4I6I6', '>I4I6I6I6'
local HEAD_BYTES, HOLD_BYTES, PLACE_BYTES, OWNER_BYTES = 34, 26, 22, 16
local RETAINED_MS, WAITING_MS, TURN_MS, WATCH_MS, WAITERS_MAX = 172800000, 2000, 10000, 1000, 500
local PERMITS_MAX, FENCE_MAX = 500, 9007199254740991

-- A value that another program has written under one of our keys reads as absent, and the next acquisition removes it.
local function ask(...)
  local run = redis.call
  run = redis.pcall -- guard: pool_foreign_type
  return run(...)
end

local function is_strange(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  return true
end

-- Returns nil for an expired lease. A lease from the future was written before the clock was set back.
local function hold_of(now, raw)
  if not raw or is_strange(raw) or #raw < HOLD_BYTES then return nil end
  local h = { metadata = string.sub(raw, 27) }
  h.permits, h.ends, h.lease, h.since, h.limit = struct.unpack(HOLD, raw)
  h.from_future = h.ends > now + h.lease
  if h.from_future then h.ends = now + h.lease end -- guard: pool_lease_from_future
  if now >= h.ends then return nil end -- guard: pool_lease_ends
  return h
end

-- Returns nil for a waiter that has stopped renewing its place. For alternating turns, a place has precedence over later requests or
-- lets them pass.
local function place_of(now, raw)
  if #raw < PLACE_BYTES then return nil end
  local w = { keeps = true }
  w.permits, w.place, w.asked, w.till = struct.unpack(PLACE, raw)
  w.till, w.asked = math.min(w.till, now + WAITING_MS), math.min(w.asked, now)
  if now >= w.till then return nil end
  local turns = math.floor((now - w.asked) / TURN_MS)
  w.keeps = turns % 2 == 0 -- guard: pool_turns_end
  w.keeps_till = math.min(w.till, w.asked + (turns + 1) * TURN_MS)
  return w
end

local function open(now, key)
  local pool = { permits = 0, fence = 0, signer = string.rep('\0', 16), places = 0 }
  pool.holds, pool.waits, pool.over, pool.used, pool.waiting = {}, {}, {}, 0, 0
  local raw = ask('HGETALL', key)
  if is_strange(raw) then
    pool.is_foreign, raw = true, {}
  end
  for i = 1, #raw, 2 do
    local kind, owner, value = string.sub(raw[i], 1, 1), string.sub(raw[i], 2), raw[i + 1]
    local is_ours = raw[i] == 'p' and #value == HEAD_BYTES or kind ~= 'p' and #owner == OWNER_BYTES or raw[i] == 'e'
    if not is_ours then kind = '' end -- guard: pool_foreign_fields
    local hold, wait = kind == 'h' and hold_of(now, value), kind == 'w' and place_of(now, value)
    if kind == 'p' then
      pool.permits, pool.fence, pool.signer, pool.places = struct.unpack(HEAD, value)
    elseif hold then
      pool.holds[owner], pool.used = hold, pool.used + hold.permits
    elseif wait then
      pool.waits[owner], pool.waiting = wait, pool.waiting + 1
    elseif raw[i] ~= 'e' then
      pool.over[#pool.over + 1] = raw[i]
    end
  end
  if pool.permits > PERMITS_MAX or pool.fence > FENCE_MAX then pool.permits, pool.fence = 0, 0 end
  return pool
end

local function save(key, pool)
  if pool.is_foreign then redis.call('DEL', key) end
  redis.call('HSET', key, 'p', struct.pack(HEAD, pool.permits, pool.fence, pool.signer, pool.places))
  redis.call('PEXPIRE', key, RETAINED_MS)
end

local function place_hold(key, owner, h)
  redis.call('HSET', key, 'h' .. owner, struct.pack(HOLD, h.permits, h.ends, h.lease, h.since, h.limit) .. h.metadata)
end

-- Waiters are served in the order in which they asked, which differs from the order of places: a process has one place at a time.
local function is_before(a, b)
  if a.asked ~= b.asked then return a.asked < b.asked end -- guard: pool_asked_order
  return a.place < b.place
end

-- Notifies the waiters whose turn it is, by their tokens.
local function notify_waiters(channel, pool)
  local queue, free, named = {}, pool.permits - pool.used, {}
  for owner, w in pairs(pool.waits) do queue[#queue + 1] = { owner, w } end
  table.sort(queue, function(a, b) return is_before(a[2], b[2]) end)
  for _, entry in ipairs(queue) do
    if entry[2].permits <= free then named[#named + 1] = entry[1] end
    if entry[2].keeps then free = free - entry[2].permits end
  end
  if #named > 0 then redis.call('SPUBLISH', channel, table.concat(named)) end -- guard: pool_release_notifies
end

local function shown(now, owner, h)
  return { owner, h.permits, h.ends - now, math.max(now - h.since, 0), h.metadata }
end
