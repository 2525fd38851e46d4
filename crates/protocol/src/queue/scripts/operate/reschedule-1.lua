-- Changes the due time of waiting jobs, their body, or both.
-- KEYS 1 shard    ARGV for each: id, when ("" keeps it), the flags of its codec with a new body or "", body
-- Replies a byte for each: 0 unknown · 1 changed · 2 changed after a lease expired · 3 running · 4 dead · 5 full · 16 + how it ended
-- Cost O(log n) each, and O(body) for a new one
check_types(WAKE) -- guard: queue_types_checked
local lease_now, before, answers = lease_clock(), earliest(), {}

local function replace_body(id, j, body)
  local key, notes, size = JOB .. id, select(2, notes_of(id, j)), call('STRLEN', JOB .. id)
  local record = call('GETRANGE', key, 0, j.body_at - 2) .. body .. (notes > 0 and call('GETRANGE', key, -notes, -1) or '')
  call('SET', key, record)
  note_size(#record)
  add('bytes', #record - size)
end

local function reschedule(id, when, codec, body)
  local j, how = open(head_of(id))
  local index, due
  if j then index, due = where(id, j) end
  if not index then return how and 16 + how or 0 end
  if index == DEAD then return 4 end
  if index == LEASED and due > lease_now then return 3 end -- guard: queue_reschedule_running
  if codec ~= '' and above_limit(growth(id, j, body)) then return 5 end
  call('ZREM', index, id)
  if index == LEASED then j.flags, due = bit.bor(j.flags, LEASE_EXPIRED), NOW end
  if when ~= '' then due = requested(when) end
  if codec ~= '' then
    j.flags = bit.bor(bit.band(j.flags, 63), tonumber(codec)) -- guard: queue_edit_names_codec
    replace_body(id, j, body)
  end
  if j.expires and when ~= '' then call('SETRANGE', JOB .. id, 40, struct.pack('>I6', due + j.late)) end
  wait(id, j, due)
  return has(j.flags, LEASE_EXPIRED) and 2 or 1
end

for at = 1, #ARGV, 4 do answers[#answers + 1] = string.char(reschedule(unpack(ARGV, at, at + 3))) end
leave_markers(before)
save_totals()
return table.concat(answers)
