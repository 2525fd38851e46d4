-- The outcomes of deliveries.
-- Cost O(log n).
local function die(s, id, count, reason, parks)
  local fields, t = entry(s.log, id) or {}, tries_of(s, id)
  local k = value(fields, 'k') or ''
  t.errors, t.outcome = math.min(t.errors + 1, 65535), count
  note(s, t, DIED, reason)
  add(s, s.dead, 'k', k, 'e', value(fields, 'e') or '', 'o', value(fields, 'o') or id, 't', packed(t), 'p', parks and 1 or 0)
  if parks then redis.call('HINCRBY', s.parked, k, 1) end
end

local function wait(s, id, count, kind, delay, words)
  local t = tries_of(s, id)
  t.outcome = count
  if kind == '1' then
    t.errors = math.min(t.errors + 1, 65535)
    note(s, t, FAILED, words)
  end
  redis.call('HSET', s.tries, id, packed(t))
  redis.call('ZREM', s.leased, id)
  redis.call('ZADD', s.due, text(s.now + delay), id)
  s.group.has_failed = true -- guard: stream_outcome_of_this_call_is_delayed
end

-- Records how a delivery ended, if it is current; returns its state. Those that are done are added to `done`, for one command in the end.
local function settle(s, done, me, id, count, kind, delay, words)
  local state = state_of(s, id, count, me)
  if state ~= 1 then return state end
  if kind == '0' then
    done[#done + 1] = id
  elseif kind == '1' or kind == '2' then
    wait(s, id, count, kind, tonumber(delay), words)
    return 1
  else
    die(s, id, count, words, kind == '4')
    finish(s, id)
  end
  s.counts[id] = false -- guard: stream_outcome_of_this_call_is_recorded
  return 1
end
