-- Deliveries: what was recorded about an entry, and the token of a delivery.
-- Cost O(log n).
local PARTS = 4 -- of an entry in a reply
local FAILED, CRASHED, DIED = 1, 2, 3
local NOTES_MAX = 8

-- Whether the reply takes no further entry.
local function is_full(s, bytes_max)
  local full = false
  full = s.bytes >= bytes_max -- guard: stream_reply_bytes
  return full
end

-- Errors, crashes, the deliveries that ended with an outcome and ran alone last, and notes.
local function tries_of(s, id)
  local raw = s.group.has_failed and redis.call('HGET', s.tries, id)
  if not raw then return { errors = 0, crashes = 0, outcome = 0, alone = 0, notes = '' } end
  local errors, crashes, outcome, alone = struct.unpack('>HBI4I4', raw)
  return { errors = errors, crashes = crashes, outcome = outcome, alone = alone, notes = string.sub(raw, 12) }
end

local function packed(t)
  return struct.pack('>HBI4I4', t.errors, t.crashes, t.outcome, t.alone) .. t.notes
end

-- Appends a note; drops the oldest one above NOTES_MAX.
local function note(s, t, kind, words)
  local count, at = 0, 1
  while at <= #t.notes do
    count, at = count + 1, at + 9 + struct.unpack('>H', t.notes, at + 7)
  end
  if count >= NOTES_MAX then t.notes = string.sub(t.notes, 10 + struct.unpack('>H', t.notes, 8)) end
  t.notes = t.notes .. struct.pack('>I6BH', s.now, kind, #words) .. words
end

-- The delivery counts of the caller's pending entries between two ids, at most `limit` of them: one command instead of one for each.
local function look_up(s, first, last, limit, me)
  for _, held in ipairs(native('XPENDING', s.log, s.name, first, last, limit, me) or {}) do s.counts[held[1]] = held[4] end
end

-- Whether a delivery is current. Codes: 1 current · 2 its outcome is recorded · 3 another delivery is current; nil: the group is missing.
local function state_of(s, id, count, me)
  local current = s.counts[id]
  if current == false then return 2 end
  if not current then
    local page = native('XPENDING', s.log, s.name, id, id, 1)
    if not page then return nil end
    local held = page[1]
    if not held then return 2 end
    if held[2] ~= me then return 3 end -- guard: stream_delivery_owner
    current = held[4]
  end
  if current ~= count then return 3 end -- guard: stream_delivery_count
  if s.group.has_failed and redis.call('ZSCORE', s.due, id) then return 2 end -- guard: stream_delivery_delayed
  return 1
end

-- Removes what a group has of entries, except for the pending list.
local function forget(s, ...)
  redis.call('ZREM', s.leased, ...)
  if not s.group.has_failed then return end
  redis.call('ZREM', s.due, ...)
  redis.call('HDEL', s.tries, ...)
end

-- The group is done with entries.
local function finish(s, ...)
  redis.call('XACK', s.log, s.name, ...)
  forget(s, ...)
end

-- Adds an entry to the reply: id, history, key, record. The history of a first delivery is empty, because each value costs time; otherwise:
-- count, due (-1: not delayed), whether its key is parked, the id under which it was first appended, what is recorded in TRIES. If `lease_expired`, its previous delivery ended without an outcome.
local function deliver(s, out, id, fields, count, due, lease_expired)
  local k, e, origin, raw, parked = fields[2], fields[4], '', '', 0
  -- Most entries have just these two fields, in this order.
  if #fields ~= 4 or fields[1] ~= 'k' or fields[3] ~= 'e' then
    k, e, origin = value(fields, 'k') or '', value(fields, 'e') or '', value(fields, 'o') or ''
  end
  if s.group.has_failed then raw, parked = redis.call('HGET', s.tries, id) or '', redis.call('HEXISTS', s.parked, k) end
  if lease_expired and raw ~= '' then
    local t, crashed = tries_of(s, id), true
    crashed = t.alone == count - 1 -- guard: stream_crash_alone
    if crashed then
      t.crashes = math.min(t.crashes + 1, 255)
      note(s, t, CRASHED, '')
      raw = packed(t)
      redis.call('HSET', s.tries, id, raw)
    end
  end
  s.bytes = s.bytes + #k + #e
  local n = #out
  local is_first = count == 1 and due == -1 and parked == 0 and origin == '' and raw == ''
  out[n + 1], out[n + 2] = id, is_first and '' or { count, due, parked, origin, raw }
  out[n + 3], out[n + 4] = k, e
end

-- Delivers an entry again; nil if the group is missing, false if the log has the entry no more.
local function deliver_again(s, out, id, me, lease_expired)
  local claimed = native('XCLAIM', s.log, s.name, me, 0, id)
  if not claimed then return nil end
  if not claimed[1] then
    finish(s, id)
    return false
  end
  redis.call('ZREM', s.due, id)
  deliver(s, out, id, claimed[1][2], redis.call('XPENDING', s.log, s.name, id, id, 1)[1][4], -1, lease_expired)
  return true
end
