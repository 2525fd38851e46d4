-- The queue of a pool's waiters. Cost O(holders log holders + waiting log waiting).

-- The time until there is room for `owner` at the earliest, given the holders and the earlier requests; 0 if there is room. `mine` is
-- its place, or nil: a caller that does not wait comes after the queue.
local function free_in(now, pool, owner, requested, total, mine)
  local kept, free_at = 0, math.huge
  for other, w in pairs(pool.waits) do
    local is_ahead = false
    is_ahead = other ~= owner and w.keeps and (not mine or is_before(w, mine)) -- guard: pool_order
    if is_ahead then kept, free_at = kept + w.permits, math.min(free_at, w.keeps_till) end
  end
  local used, leases = pool.used, {}
  local missing = 0
  missing = used + kept + requested - total -- guard: pool_room
  if missing <= 0 then return 0 end
  for _, h in pairs(pool.holds) do leases[#leases + 1] = h end
  table.sort(leases, function(a, b) return a.ends < b.ends end)
  for _, h in ipairs(leases) do
    if used + requested > total then used, free_at = used - h.permits, h.ends end
  end
  return free_at - now
end

-- Expired holds and places are removed for good, so that they do not return if the clock is set back.
local function tidy(key, pool)
  if pool.is_foreign then redis.call('DEL', key) end
  pool.is_foreign = false
  if #pool.over > 0 then redis.call('HDEL', key, unpack(pool.over)) end
  for owner, h in pairs(pool.holds) do
    if h.from_future then place_hold(key, owner, h) end
  end
end

-- The place of the caller, or the one that it takes now, after waiting for so many ms in the local queue of its process.
local function place_for(now, pool, owner, waited)
  return pool.waits[owner] or { asked = math.max(now - waited, 0), place = math.huge }
end

-- Stores the caller's place, or renews it.
local function join_queue(now, key, pool, owner, requested, mine)
  if not pool.waits[owner] then
    if pool.waiting >= WAITERS_MAX then return end
    pool.places, pool.waiting = pool.places + 1, pool.waiting + 1
    mine.place = pool.places
  end
  local raw = struct.pack(PLACE, requested, mine.place, mine.asked, now + WAITING_MS)
  redis.call('HSET', key, 'w' .. owner, raw)
  pool.waits[owner] = place_of(now, raw)
  save(key, pool)
end

-- Renews the place of a waiter that polls, without reading the pool, until a watch is due.
local function keep_place(now, key, owner)
  local found = ask('HMGET', key, 'w' .. owner, 'e')
  if is_strange(found) or not found[1] or not found[2] or #found[2] ~= 6 then return false end
  local mine, due = place_of(now, found[1]), struct.unpack('>I6', found[2])
  if not mine or due > now + WATCH_MS then return false end
  if now >= due then return false end -- guard: pool_watch_due
  redis.call('HSET', key, 'w' .. owner, struct.pack(PLACE, mine.permits, mine.place, mine.asked, now + WAITING_MS))
  redis.call('PEXPIRE', key, RETAINED_MS)
  return true
end

-- Redis reports no end of a lease or of a place, and a notification can be lost. So one of the waiters that poll reads the pool once a
-- second, and whenever a lease or a turn ends: it notifies the waiters that have room, and stores when the next watch is due.
local function watch(now, key, pool, channel)
  local due = now + WATCH_MS
  for _, h in pairs(pool.holds) do due = math.min(due, h.ends) end
  for _, w in pairs(pool.waits) do
    if w.keeps then due = math.min(due, w.keeps_till) end
  end
  redis.call('HSET', key, 'e', struct.pack('>I6', due))
  notify_waiters(channel, pool) -- guard: pool_watch_notifies
end

-- Issues a fencing token above all earlier ones; concurrent readers share one.
local function mint(now, pool, owner, floor)
  local fence, signer = 1, owner
  fence = math.max(fence, pool.fence + 1) -- guard: pool_fence_previous
  fence = math.max(fence, now * 1000) -- guard: pool_fence_time
  fence = math.max(fence, floor + 1) -- guard: pool_fence_floor
  if pool.used > 0 then fence, signer = math.max(pool.fence, floor + 1), pool.signer end -- guard: pool_readers_share
  pool.fence, pool.signer = fence, signer
end
