-- The queue of a pool's waiters. Cost O(holders log holders + waiting).

-- The time until there is room for `owner` at the earliest, given the holders and the earlier requests; 0 if there is room.
local function free_in(pool, owner, requested, total)
  local mine, kept, free_at = pool.waits[owner], 0, math.huge
  for other, w in pairs(pool.waits) do
    local is_ahead = false
    is_ahead = other ~= owner and w.keeps and (not mine or w.place < mine.place) -- guard: pool_order
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
  if pool.is_foreign then call('DEL', key) end
  pool.is_foreign = false
  if #pool.over > 0 then call('HDEL', key, unpack(pool.over)) end
  for owner, h in pairs(pool.holds) do
    if h.from_future then place_hold(key, owner, h) end
  end
end

-- Assigns a place in the queue, or renews the caller's place.
local function join_queue(key, pool, owner, requested)
  local mine = pool.waits[owner]
  if not mine then
    if pool.waiting >= WAITERS_MAX then return end
    pool.places = pool.places + 1
    mine = { place = pool.places, asked = now }
  end
  call('HSET', key, 'w' .. owner, struct.pack(PLACE, requested, mine.place, mine.asked, now + WAITING_MS))
  save(key, pool)
end

-- Issues a fencing token above all earlier ones; concurrent readers share one.
local function mint(pool, owner, floor)
  local fence, signer = 1, owner
  fence = math.max(fence, pool.fence + 1) -- guard: pool_fence_previous
  fence = math.max(fence, now * 1000) -- guard: pool_fence_time
  fence = math.max(fence, floor + 1) -- guard: pool_fence_floor
  if pool.used > 0 then fence, signer = math.max(pool.fence, floor + 1), pool.signer end -- guard: pool_readers_share
  pool.fence, pool.signer = fence, signer
end
