-- Reads and writes the record of a held lock and its ledger; docs/spec/lock.md has the tables of offsets.
-- Cost O(1).
local RECORD, LEDGER = '>c16I8I6I4I4I6I6', '>I8c16I6'
local NO_OWNER = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
local DAY_MS, WAITING_MS, TIDY_MS, TURN_MS = '86400000', 2000, '60000', 20
-- In place of a time in the ledger: processes may be waiting.
local WAITED = 1
local RECORD_BYTES, LEDGER_BYTES, FENCE_MAX = 50, 30, 9007199254740991

-- A value that another program has written under one of our keys reads as absent, and the next write replaces it.
local function ask(...)
  local run = redis.call
  run = redis.pcall -- guard: lock_foreign_type
  return run(...)
end

-- What a call knows: the time, and whether another program's value was found.
local function call_of(key)
  return { now = now_ms(key), is_foreign = false }
end

local function strange(s, reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then error(reply) end
  s.is_foreign = true
  return true
end

-- The bytes under a key; nil if there are none.
local function fetch(s, key)
  local raw = ask('GET', key)
  if raw and not strange(s, raw) then return raw end
end

local function ours(s, raw, bytes, fence_at)
  if not raw then return nil end
  local is_ours = #raw >= bytes and struct.unpack('>I8', raw, fence_at) <= FENCE_MAX
  s.is_foreign = s.is_foreign or not is_ours
  if not is_ours then return nil end -- guard: lock_foreign_bytes
  return raw
end

-- The lock in these bytes; nil for an expired lease. A lease from the future was written before the clock was set back.
local function opened(s, stored)
  local raw = ours(s, stored, RECORD_BYTES, 17)
  if not raw then return nil end
  local r = { metadata = string.sub(raw, 51) }
  r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit = struct.unpack(RECORD, raw)
  r.from_future = r.ends > s.now + r.lease
  if r.from_future then r.ends = s.now + r.lease end -- guard: lock_lease_from_future
  if s.now >= r.ends + r.cooling then return nil end
  return r
end

local function open(s, key)
  return opened(s, fetch(s, key))
end

-- A whole number as an argument: Redis would format it with 17 digits, which takes longer than most commands.
local function text(number)
  return string.format('%d', number)
end

local function place(s, key, r)
  local head = struct.pack(RECORD, r.owner, r.fence, r.ends, r.lease, r.cooling, r.since, r.limit)
  redis.call('SET', key, head .. r.metadata, 'PX', text(r.ends + r.cooling - s.now))
end

-- The ledger in these bytes: the last fence, the process that released last, and until when it lets other processes acquire first;
-- 0: no process has waited since.
local function ledger(s, stored)
  local raw = ours(s, stored, LEDGER_BYTES, 1)
  if not raw then return 0, NO_OWNER, 0 end
  return struct.unpack(LEDGER, raw)
end

local function note(key, fence, process, turn_ends)
  redis.call('SET', key, struct.pack(LEDGER, fence, process, turn_ends), 'PX', DAY_MS)
end

-- The number of other waiting processes.
local function others(s, key, process)
  local all = ask('ZCOUNT', key, '(' .. s.now, '+inf')
  if strange(s, all) or all == 0 then return 0 end
  local mine = redis.call('ZSCORE', key, process)
  return mine and tonumber(mine) > s.now and all - 1 or all
end

-- Takes a place among the waiting processes, which the ledger then says.
local function wait(s, key, process, ledger_key, last, turn, turn_ends)
  if strange(s, ask('ZADD', key, s.now + WAITING_MS, process)) then
    redis.call('DEL', key)
    redis.call('ZADD', key, s.now + WAITING_MS, process)
  end
  redis.call('PEXPIRE', key, TIDY_MS)
  if turn_ends == 0 then note(ledger_key, last, turn, WAITED) end -- guard: lock_ledger_says_that_one_waits
end
