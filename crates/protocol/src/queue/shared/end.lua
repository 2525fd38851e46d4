-- Puts a job that was removed from its index back to the waiting ones, makes it a dead letter, or ends it.
-- Cost O(log n) a job.
-- `alone`, whether it crashed alone, is stored until the next delivery, whose start may depend on it.
local function settle_head(id, j, alone)
  j.token = NO_OWNER
  j.fields = bit.band(j.fields, FIELDS) + (alone and ALONE or 0)
  j.flags = bit.band(j.flags, bit.bnot(STARTED))
  call('SETRANGE', JOB .. id, '0', head(j))
end

local function wait(id, j, due, alone)
  settle_head(id, j, alone)
  call('ZADD', DUE[j.flags % 4], text(due), id)
end

-- With `ended`, the key of a record that leaves no completion record is collected there, and the caller deletes it.
local function finish(id, j, how, ended)
  add('bytes', -(j.size or call('STRLEN', JOB .. id)))
  local until_ms = retain_until(j.rule, j.window, how, j.enqueued)
  local counts = false
  counts = until_ms == 0 or until_ms > NOW -- guard: queue_done_completion
  if counts then
    record_completion(id, how, j.version, until_ms)
  elseif ended then
    ended[#ended + 1], ended[id] = JOB .. id, true
  else
    call('DEL', JOB .. id)
  end
  if how >= DELETED then free_unique(id, j) end
  add(TOTALS[how], 1)
end

-- Returns 2 for a dead letter, 3 for a discarded job.
local function mark_dead(id, j, discard)
  if discard then
    finish(id, j, DISCARDED)
    return 3
  end
  settle_head(id, j)
  call('ZADD', DEAD, text(NOW), id)
  add('died', 1)
  return 2
end
