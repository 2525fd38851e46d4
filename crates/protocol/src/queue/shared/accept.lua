-- Writes the record of a new job; time, fence and expiry are set by the server, not by the sender.
-- Cost O(log n).

-- "+5" is 5 ms from now; "5" and "!5" are the time 5.
local function due_at(s, when)
  local due = tonumber(string.match(when, '%d+$'))
  return string.sub(when, 1, 1) == '+' and s.now + due or due
end

-- The due time that a caller asks for: a time in the past means now.
local function requested(s, when)
  local due = due_at(s, when)
  due = math.max(due, s.now) -- guard: queue_past_is_now
  return due
end

-- The record of a new job.
local function record_of(s, due, raw, j)
  j.enqueued = s.now
  if j.expires then return head(j) .. struct.pack('>I6', due + j.late) .. string.sub(raw, 47) end
  return head(j) .. string.sub(raw, 41)
end

-- Stores the record of an id that has none, and returns ''; else what is stored. Another program's value is replaced.
local function store_new(s, id, record)
  local held = redis.pcall('SET', s.job .. id, record, 'NX', 'GET')
  if not held then return '' end
  if not is_foreign(held) then return held end
  redis.call('SET', s.job .. id, record)
  return ''
end

-- Counts a job whose record was stored, and adds it to the waiting ones, or to the dead letters.
local function accept(s, id, due, record, j, is_dead)
  local is_waiting = true
  is_waiting = not is_dead -- guard: queue_put_restores_dead
  if is_waiting then add_waiting(s, j.flags % 4, id, due) else redis.call('ZADD', s.dead, text(due), id) end
  add(s, 'bytes', #record)
  note_size(s, #record)
  add(s, 'created', 1)
end

-- Stores the record, and accepts the job.
local function accept_record(s, id, due, raw, j, is_dead)
  local record = record_of(s, due, raw, j)
  redis.call('SET', s.job .. id, record)
  accept(s, id, due, record, j, is_dead)
end

-- Versions have eight bytes; Lua's numbers are exact only up to 53 bits.
local function newer(a, b)
  local a_high, a_low = struct.unpack('>I4I4', a)
  local b_high, b_low = struct.unpack('>I4I4', b)
  return a_high > b_high or (a_high == b_high and a_low > b_low)
end
