-- Reads and writes the record of a held lock and its ledger; docs/spec/lock.md has the tables of offsets.
-- Cost O(1).
local call, now = redis.call, now_ms()
local RECORD, LEDGER = '>c16I8I6I4I4I6I6', '>I8c16I6'
local NO_OWNER = string.rep('\0', 16)
local DAY_MS, WAITING_MS, TIDY_MS, TURN_MS = 86400000, 2000, 60000, 20
local RECORD_BYTES, LEDGER_BYTES, FENCE_MAX = 50, 30, 9007199254740991

-- A value that another program has written under one of our keys reads as absent, and the next write replaces it.
local is_foreign, ask = false, call
ask = redis.pcall -- guard: lock_foreign_type

local function strange(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  is_foreign = true
  return true
end

local function read(key, bytes, fence_at)
  local raw = ask('GET', key)
  if not raw or strange(raw) then return nil end
  local is_ours = #raw >= bytes and struct.unpack('>I8', raw, fence_at) <= FENCE_MAX
  is_foreign = is_foreign or not is_ours
  if not is_ours then return nil end -- guard: lock_foreign_bytes
  return raw
end

-- Returns nil for an expired lease. A lease from the future was written before the clock was set back.
local function open(key)
  local raw = read(key, RECORD_BYTES, 17)
  if not raw then return nil end
  local r = { metadata = string.sub(raw, 51) }
  r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit = struct.unpack(RECORD, raw)
  r.from_future = r.ends > now + r.lease
  if r.from_future then r.ends = now + r.lease end -- guard: lock_lease_from_future
  if now >= r.ends + r.cooling then return nil end
  return r
end

local function place(key, r)
  local head = struct.pack(RECORD, r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit)
  call('SET', key, head .. r.metadata, 'PX', r.ends + r.cooling - now)
end

-- The last fence, the process that released last, and until when it lets other processes acquire first.
local function ledger(key)
  local raw = read(key, LEDGER_BYTES, 1)
  if not raw then return 0, NO_OWNER, 0 end
  return struct.unpack(LEDGER, raw)
end

local function note(key, fence, process, turn_ends)
  call('SET', key, struct.pack(LEDGER, fence, process, turn_ends), 'PX', DAY_MS)
end

-- The number of other waiting processes.
local function others(key, process)
  local all = ask('ZCOUNT', key, '(' .. now, '+inf')
  if strange(all) or all == 0 then return 0 end
  local mine = call('ZSCORE', key, process)
  return mine and tonumber(mine) > now and all - 1 or all
end

local function wait(key, process)
  if strange(ask('ZADD', key, now + WAITING_MS, process)) then
    call('DEL', key)
    call('ZADD', key, now + WAITING_MS, process)
  end
  call('PEXPIRE', key, TIDY_MS)
end
