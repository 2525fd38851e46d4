-- The clock and the rows of a scope; docs/spec/id.md has the fields. Cost O(1).
local ROW, ROW_BYTES, APART_MS = '>c16I6I6I6', 34, 3600000

-- The scope at the time of the step, or the reply that refuses a caller with other settings. Its time is the server's plus the steps back
-- that were seen, so it never goes back. Writes nothing.
local function open(key, settings, own_ms)
  local head = redis.call('HMGET', key, 'settings', 'last', 'offset')
  if head[1] and head[1] ~= settings then return nil, { -1, 0, 0, 0, 0, head[1] } end -- guard: id_settings_agree
  local scope = { key = key, settings = settings, server = now_ms(key) }
  scope.now = scope.server + tonumber(head[3] or 0)
  scope.now = math.max(scope.now, tonumber(head[2] or 0)) -- guard: id_clock_back
  local apart = math.abs(scope.now - own_ms) >= APART_MS
  scope.is_apart = false
  scope.is_apart = apart -- guard: id_clocks_apart
  return scope
end

local function row_of(key, worker)
  local raw = redis.call('HGET', key, 'w' .. worker)
  if not raw then return nil end
  if #raw ~= ROW_BYTES then error('another program has changed a row of ' .. key) end
  local row = {}
  row.owner, row.lease, row.from, row.till = struct.unpack(ROW, raw)
  return row
end

-- The owner has this worker id no more.
local function forget(key, owner, worker)
  if redis.call('HGET', key, 'o' .. owner) == tostring(worker) then redis.call('HDEL', key, 'o' .. owner) end
end

-- Stores a row and the time of the step.
local function save(scope, leases, worker, row)
  local raw = struct.pack(ROW, row.owner, row.lease, row.from, row.till)
  redis.call('HSET', scope.key, 'settings', scope.settings, 'last', scope.now, 'offset', scope.now - scope.server, 'w' .. worker, raw)
  redis.call('ZADD', leases, row.lease, string.format('%04d', worker))
end

local function granted(scope, worker, row)
  return { 1, worker, row.from, row.till, scope.now, '' }
end
