-- Puts a job that has left its index back to wait, among the dead, or ends it.
-- Cost O(log n) a job.
local function settle_head(id, j)
  j.token = NOBODY
  j.flags = bit.band(j.flags, bit.bnot(STARTED))
  call('SETRANGE', JOB .. id, 0, head(j))
end

local function wait(id, j, due)
  settle_head(id, j)
  call('ZADD', DUE[j.flags % 4], due, id)
end

local function finish(id, j, how)
  add('bytes', -call('STRLEN', JOB .. id))
  call('DEL', JOB .. id)
  local until_ms = keep_until(j.rule, j.window, how, j.enqueued)
  if until_ms == 0 or until_ms > NOW then stamp(id, how, j.version, until_ms) end -- guard: queue_done_stamp
  if how >= DELETED then free_unique(id, j) end
  add(TOTALS[how], 1)
end

-- Dead (2), or gone (3).
local function bury(id, j, discard)
  if discard then
    finish(id, j, DISCARDED)
    return 3
  end
  settle_head(id, j)
  call('ZADD', DEAD, NOW, id)
  add('died', 1)
  return 2
end
