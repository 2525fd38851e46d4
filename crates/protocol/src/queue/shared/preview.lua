-- A job without most of its body: a record with the first bytes of its body, and of its notes the caller's own id and the newest error.
-- Cost O(notes). The body is not read.
local NAME_NOTE, ERROR_NOTE, NOTES_MAX = 4, 1, 1000

-- The two notes, with at most `most` bytes of text each; and how many bytes all notes take.
local function short_notes(key, j, size, most)
  if not has(j.flags, NOTES) then return '', 0 end
  local length = struct.unpack('>I4', redis.call('GETRANGE', key, size - 4, size - 1))
  local at, last, found, notes = size - 4 - length, size - 4, {}, ''
  for _ = 1, NOTES_MAX do
    if at < 40 or at + 3 > last then break end
    local kind, bytes = struct.unpack('>BH', redis.call('GETRANGE', key, at, at + 2))
    found[kind] = { at + 3, bytes }
    at = at + 3 + bytes
  end
  for _, kept in ipairs({ { NAME_NOTE, most }, { ERROR_NOTE, 9 + most } }) do
    local note = found[kept[1]]
    if note then
      local bytes = redis.call('GETRANGE', key, note[1], note[1] + math.min(note[2], kept[2]) - 1)
      notes = notes .. struct.pack('>BH', kept[1], #bytes) .. bytes
    end
  end
  return notes .. struct.pack('>I4', #notes), length + 4
end

-- The shortened record, the number of its index (0-3 waiting by priority, 4 leased, 5 dead, -1 ended, -2 unreadable), its score, and the
-- length of its body; nothing for an unknown id, or one that is on its way to another shard.
local function preview(s, id, most)
  local key = s.job .. id
  local raw = redis.call('GETRANGE', key, '0', HEAD_LAST)
  local j, how = open(s, raw)
  if how then return raw, -1, 0, 0 end
  local format = string.byte(raw, 1)
  if not j then
    if not format or (format >= 2 and format <= 4) then return nil end
    return raw, -2, 0, 0
  end
  local index, score = where(s, id, j)
  if not index then return nil end
  local size = redis.call('STRLEN', key)
  local notes, tail = short_notes(key, j, size, most)
  local body_at = j.body_at - 1 + (bit.band(j.flags, 192) == 192 and 1 or 0)
  local body = math.max(size - tail - body_at, 0)
  local part = body
  part = math.min(body, most) -- guard: queue_preview_cut
  local number = index == s.dead and 5 or index == s.leased and 4 or j.flags % 4
  return redis.call('GETRANGE', key, '0', body_at + part - 1) .. notes, number, score, body
end
