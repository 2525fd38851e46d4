-- The notes at the end of a record: entries of kind (1), length (2), bytes; then the length of all entries (4).
-- Cost O(notes); the body is copied only when an old error is dropped.
local ERROR, REDRIVEN = 1, 5
local ERRORS_MAX = 16

local function notes_of(s, id, j)
  if not has(j.flags, NOTES) then return '', 0 end
  local length = struct.unpack('>I4', redis.call('GETRANGE', s.job .. id, -4, -1))
  return string.sub(redis.call('GETRANGE', s.job .. id, -4 - length, -1), 1, length), length + 4
end

-- The bytes by which a record grows with another body.
local function growth(s, id, j, body)
  return j.body_at - 1 + #body + select(2, notes_of(s, id, j)) - redis.call('STRLEN', s.job .. id)
end

-- Calls visit(kind, bytes, first, last) for each entry.
local function each_note(notes, visit)
  local at = 1
  while at <= #notes do
    local kind, length = struct.unpack('>BH', notes, at)
    visit(kind, string.sub(notes, at + 3, at + 2 + length), at, at + 2 + length)
    at = at + 3 + length
  end
end

-- Appends an entry; above ERRORS_MAX errors the oldest one is dropped. The caller must write the head afterwards.
local function annotate(s, id, j, kind, bytes)
  local notes, tail = notes_of(s, id, j)
  local errors, first, last = 0, 1, 0
  each_note(notes, function(of, _, from, to)
    if of == ERROR then errors = errors + 1 end
    if of == ERROR and errors == 1 then first, last = from, to end
  end)
  local size = redis.call('STRLEN', s.job .. id)
  j.size = nil
  local drop = kind == ERROR and errors >= ERRORS_MAX
  if drop then notes = string.sub(notes, 1, first - 1) .. string.sub(notes, last + 1) end
  notes = notes .. struct.pack('>BH', kind, #bytes) .. bytes
  local ending = notes .. struct.pack('>I4', #notes)
  if drop then redis.call('SET', s.job .. id, redis.call('GETRANGE', s.job .. id, 0, size - tail - 1)) end
  redis.call('SETRANGE', s.job .. id, size - tail, ending)
  j.flags = bit.bor(j.flags, NOTES)
  add(s, 'bytes', #ending - tail)
  note_size(s, size - tail + #ending)
end
