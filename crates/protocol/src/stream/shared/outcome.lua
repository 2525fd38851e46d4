-- The outcomes of deliveries.
-- Cost O(log n).
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
  if kind == '1' then
    t.errors = math.min(t.errors + 1, 65535)
    note(t, FAILED, words)
  end
  call('HSET', TRIES, id, packed(t))
  call('ZREM', LEASED, id)
  call('ZADD', DUE, text(NOW + delay), id)
  g.has_failed = true -- guard: stream_outcome_of_this_call_is_delayed
end

local done = {}
-- Records how a delivery ended, if it is current; returns its state. Those that are done are finished by one command in the end.
local function settle(me, id, count, kind, delay, words)
  local state = state_of(id, count, me)
  if state ~= 1 then return state end
  if kind == '0' then
    done[#done + 1] = id
  elseif kind == '1' or kind == '2' then
    wait(id, count, kind, tonumber(delay), words)
    return 1
  else
    die(id, count, words, kind == '4')
    finish(id)
  end
  counts[id] = false -- guard: stream_outcome_of_this_call_is_recorded
  return 1
end
