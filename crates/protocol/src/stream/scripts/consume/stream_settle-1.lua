-- Records how deliveries ended, if they are current.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch, then for each: id, delivery count, kind, delay ms, text
--   kinds: 0 done · 1 retry · 2 snooze · 3 dead · 4 dead, and parks its key
-- Replies {code} refused · {1, verdicts: 1 settled · 2 already settled · 3 stale, a byte each}
-- Cost O(log n) an item. A repeat finds the outcomes recorded.
local code, me, verdicts = refused(ARGV[2], ARGV[3], ARGV[4]), name_of(ARGV[2], ARGV[3]), {}
if code then return { code } end
check_types() -- guard: stream_types_checked

local function die(id, count, reason, parks)
  local fields, t = entry(LOG, id) or {}, tries_of(id)
  local k = value(fields, 'k') or ''
  t.errors, t.outcome = math.min(t.errors + 1, 65535), count
  note(t, DIED, reason)
  add(DEAD, 'k', k, 'e', value(fields, 'e') or '', 'o', value(fields, 'o') or id, 't', packed(t), 'p', parks and 1 or 0)
  if parks then call('HINCRBY', PARKED, k, 1) end
end

local function wait(id, count, kind, delay, words)
  local t = tries_of(id)
  t.outcome = count
  if kind == 1 then
    t.errors = math.min(t.errors + 1, 65535)
    note(t, FAILED, words)
  end
  call('HSET', TRIES, id, packed(t))
  call('ZREM', LEASED, id)
  call('ZADD', DUE, text(NOW + delay), id)
end

for at = 5, #ARGV, 5 do
  local id, count, kind = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local state = state_of(id, count, me)
  if not state then return { MISSING } end
  if state == 1 and (kind == 1 or kind == 2) then wait(id, count, kind, tonumber(ARGV[at + 3]), ARGV[at + 4]) end
  if state == 1 and kind >= 3 then die(id, count, ARGV[at + 4], kind == 4) end
  if state == 1 and kind ~= 1 and kind ~= 2 then finish(id) end
  verdicts[#verdicts + 1] = string.char(state)
end
return { DONE, table.concat(verdicts) }
