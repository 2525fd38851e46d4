-- Reads and writes the record of a held lock and the ledger beside it; docs/spec/lock.md has the tables of offsets.
-- Cost O(1).
local call, now = redis.call, now_ms()
local RECORD, LEDGER = '>c16I8I6I4I4I6I6', '>I8c16I6'
local NOBODY = string.rep('\0', 16)
local DAY_MS, WAITING_MS, TIDY_MS, TURN_MS = 86400000, 2000, 60000, 20

-- Nothing of a lease that is over. A lease from the future was written before the clock was set back.
local function open(raw)
  if not raw then return nil end
  local r = { words = string.sub(raw, 51) }
  r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit = struct.unpack(RECORD, raw)
  r.from_future = r.ends > now + r.lease
  if r.from_future then r.ends = now + r.lease end -- guard: lock_lease_from_future
  if now >= r.ends + r.cooling then return nil end
  return r
end

local function place(key, r)
  local head = struct.pack(RECORD, r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit)
  call('SET', key, head .. r.words, 'PX', r.ends + r.cooling - now)
end

-- The last fence, who gave the lock back last, and until when it lets others go first.
local function ledger(key)
  local raw = call('GET', key)
  if not raw then return 0, NOBODY, 0 end
  return struct.unpack(LEDGER, raw)
end

local function note(key, fence, process, turn_ends)
  call('SET', key, struct.pack(LEDGER, fence, process, turn_ends), 'PX', DAY_MS)
end

-- How many processes wait besides this one.
local function others(key, process)
  local all = call('ZCOUNT', key, '(' .. now, '+inf')
  if all == 0 then return 0 end
  local mine = call('ZSCORE', key, process)
  return mine and tonumber(mine) > now and all - 1 or all
end

local function wait(key, process)
  call('ZADD', key, now + WAITING_MS, process)
  call('PEXPIRE', key, TIDY_MS)
end
