-- Changes the due time of waiting jobs, their body, or both.
-- KEYS 1 shard    ARGV for each: id, when ("" keeps it), the flags of its codec with a new body or "", body
-- Replies a byte for each: 0 unknown · 1 changed · 2 changed after a lease expired · 3 running · 4 dead · 5 full · 16 + how it ended
-- Cost O(log n) each, and O(body) for a new one
local s = shard_of(KEYS[1], ARGV)
check_types(s, s.wake) -- guard: queue_types_checked
local lease_now, answers = lease_clock(s), {}

local function replace_body(id, j, body)
  local key, notes, size = s.job .. id, select(2, notes_of(s, id, j)), redis.call('STRLEN', s.job .. id)
  local record = redis.call('GETRANGE', key, 0, j.body_at - 2) .. body .. (notes > 0 and redis.call('GETRANGE', key, -notes, -1) or '')
  redis.call('SET', key, record)
  note_size(s, #record)
  add(s, 'bytes', #record - size)
end

local function reschedule(id, when, codec, body)
  local j, how = open(s, head_of(s, id))
  local index, due
  if j then index, due = where(s, id, j) end
  if not index then return how and 16 + how or 0 end
  if index == s.dead then return 4 end
  if index == s.leased and due > lease_now then return 3 end -- guard: queue_reschedule_running
  if codec ~= '' and above_limit(s, growth(s, id, j, body)) then return 5 end
  redis.call('ZREM', index, id)
  if index == s.leased then j.flags, due = bit.bor(j.flags, LEASE_EXPIRED), s.now end
  if when ~= '' then due = requested(s, when) end
  if codec ~= '' then
    j.flags = bit.bor(bit.band(j.flags, 63), tonumber(codec)) -- guard: queue_edit_names_codec
    replace_body(id, j, body)
  end
  wait(s, id, j, due)
  if j.expires and when ~= '' then redis.call('SETRANGE', s.job .. id, 40, struct.pack('>I6', due + j.late)) end
  return has(j.flags, LEASE_EXPIRED) and 2 or 1
end

for at = 1, #ARGV, 4 do answers[#answers + 1] = string.char(reschedule(unpack(ARGV, at, at + 3))) end
announce(s)
save(s)
return table.concat(answers)
