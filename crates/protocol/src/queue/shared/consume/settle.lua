-- Settles one delivery, if it is current.
-- Returns a verdict: 0 lost · 1 settled · 2 died · 3 discarded. Cost O(log n).
local ACK, FAIL, SNOOZE, RELEASE, KILL = 0, 1, 2, 3, 4
local FAILED, KILLED = 1, 4
-- Replaces the decoded job where a completed job leaves no completion record: most do not, and then the record need not be decoded.
local PLAIN = { rule = 0, size = nil }

local function note_error(s, id, j, class, text)
  annotate(s, id, j, ERROR, struct.pack('>I6BH', s.now, class, j.errors) .. text)
end

-- An item is kind (1), id (16), fence (8), token (16), delay (6), text. Ids to be removed from the index are added to `gone`, keys of
-- records to be deleted to `ended`.
local function settle(s, item, gone, ended)
  local kind, id, hold, delay, text_at = struct.unpack('>Bc16c24I6', item)
  if ended[id] then return 0 end
  local raw, size = held(s, id, hold)
  if not raw then return 0 end
  gone[#gone + 1] = id
  local _, _, fields, rule = string.byte(raw, 1, 4)
  if kind == ACK and bit.band(fields, FIELDS) == 0 and rule == 0 then
    PLAIN.size = size
    finish(s, id, PLAIN, DONE, ended)
    return 1
  end
  local j = open(s, raw)
  j.size, j.crashes, j.lease_expiries = size, 0, 0
  if kind ~= RELEASE then j.flags = bit.bor(j.flags, STARTED) end
  if kind == ACK then
    finish(s, id, j, DONE, ended)
  elseif kind == FAIL or kind == KILL then
    j.errors = math.min(j.errors + 1, 65535)
    note_error(s, id, j, kind == FAIL and FAILED or KILLED, string.sub(item, text_at))
    if kind == KILL then return mark_dead(s, id, j, false) end
    if j.retries < 65535 and j.errors > j.retries then return mark_dead(s, id, j, has(j.flags, DISCARD)) end -- guard: queue_retries
    wait(s, id, j, s.now + delay)
    add(s, 'retried', 1)
  else
    wait(s, id, j, s.now + (kind == SNOOZE and delay or 0))
  end
  return 1
end

-- Settles the items from ARGV[from]; returns the verdicts. What is not acknowledged moves to another index, whose type is checked before.
local function settle_all(s, from)
  local verdicts, gone, ended, moves = {}, {}, {}, false
  for at = from, #s.argv do moves = moves or string.byte(s.argv[at]) ~= ACK end
  if moves then check_types(s, s.workers, s.wake) end -- guard: queue_types_checked
  for at = from, #s.argv do verdicts[#verdicts + 1] = string.char(settle(s, s.argv[at], gone, ended)) end
  if #ended > 0 then redis.call('DEL', unpack(ended)) end
  if #gone > 0 then redis.call('ZREM', s.leased, unpack(gone)) end
  return table.concat(verdicts)
end
