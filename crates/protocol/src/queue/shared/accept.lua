-- Writes the record of a new job; time, fence and expiry are set by the server, not by the sender.
-- Cost O(log n).

-- "+5" is 5 ms from now; "5" and "!5" are the time 5.
local function due_at(when)
  local due = tonumber(string.match(when, '%d+$'))
  return string.sub(when, 1, 1) == '+' and NOW + due or due
end

-- The due time that a caller asks for: a time in the past means now.
local function requested(when)
  local due = due_at(when)
  due = math.max(due, NOW) -- guard: queue_past_is_now
  return due
end

-- Adds the job to the waiting ones, or to the dead letters.
local function accept(id, due, raw, j, is_dead)
  j.enqueued = NOW
  local record = head(j) .. string.sub(raw, 41)
  if j.expires then record = head(j) .. struct.pack('>I6', due + j.late) .. string.sub(raw, 47) end
  call('SET', JOB .. id, record)
  local index = DUE[j.flags % 4]
  if is_dead then index = DEAD end -- guard: queue_put_restores_dead
  call('ZADD', index, text(due), id)
  add('bytes', #record)
  note_size(#record)
  add('created', 1)
end

-- Versions have eight bytes; Lua's numbers are exact only up to 53 bits.
local function newer(a, b)
  local a_high, a_low = struct.unpack('>I4I4', a)
  local b_high, b_low = struct.unpack('>I4I4', b)
  return a_high > b_high or (a_high == b_high and a_low > b_low)
end
