-- Puts a job that was removed from its index back to the waiting ones, makes it a dead letter, or ends it.
-- Cost O(log n) a job.
-- `alone`, whether it crashed alone, is stored until the next delivery, whose start may depend on it.
-- A job that has started is not dropped for being late. It expires at the highest time of six bytes, until it is rescheduled or redriven.
local NO_EXPIRY = '\255\255\255\255\255\255'
local function settle_head(s, id, j, alone)
  if j.expires and has(j.flags, STARTED) then redis.call('SETRANGE', s.job .. id, '40', NO_EXPIRY) end -- guard: queue_started_is_not_late
  j.token = NO_OWNER
  j.fields = bit.band(j.fields, FIELDS) + (alone and ALONE or 0)
  j.flags = bit.band(j.flags, bit.bnot(STARTED))
  redis.call('SETRANGE', s.job .. id, '0', head(j))
end

local function wait(s, id, j, due, alone)
  settle_head(s, id, j, alone)
  add_waiting(s, j.flags % 4, id, due)
end

-- With `ended`, the key of a record that leaves no completion record is collected there, and the caller deletes it.
local function finish(s, id, j, how, ended)
  add(s, 'bytes', -(j.size or redis.call('STRLEN', s.job .. id)))
  local until_ms = retain_until(s, j.rule, j.window, how, j.enqueued)
  local counts = false
  counts = until_ms == 0 or until_ms > s.now -- guard: queue_done_completion
  if counts then
    record_completion(s, id, how, j.version, until_ms)
  elseif ended then
    ended[#ended + 1], ended[id] = s.job .. id, true
  else
    redis.call('DEL', s.job .. id)
  end
  if how >= DELETED then free_unique(s, id, j) end
  add(s, TOTALS[how], 1)
end

-- Returns 2 for a dead letter, 3 for a discarded job.
local function mark_dead(s, id, j, discard)
  if discard then
    finish(s, id, j, DISCARDED)
    return 3
  end
  settle_head(s, id, j)
  redis.call('ZADD', s.dead, text(s.now), id)
  add(s, 'died', 1)
  return 2
end
