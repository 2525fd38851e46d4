-- Writes a new record as the server accepts it: time, fence and expiry are not the sender's to say.
-- Cost O(log n).

-- "+5" means in 5 ms, "5" means at 5, and so does "!5".
local function due_at(when)
  local due = tonumber(string.match(when, '%d+$'))
  return string.sub(when, 1, 1) == '+' and NOW + due or due
end

-- It waits, unless it is dead.
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

-- Versions are eight bytes; Lua's numbers hold only 53 bits exactly.
local function newer(a, b)
  local a_high, a_low = struct.unpack('>I4I4', a)
  local b_high, b_low = struct.unpack('>I4I4', b)
  return a_high > b_high or (a_high == b_high and a_low > b_low)
end
