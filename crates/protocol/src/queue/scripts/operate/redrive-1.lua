-- Redrives dead letters. The first call with a redrive id fixes its cutoff and filter; later calls use them.
-- KEYS 1 shard    ARGV 1 redrive id, 2 filter, 3 delay ms, 4 retention of the redrive, then ids
-- Replies cutoff, filter, taken in all, and a byte for each id: 0 not dead · 1 taken · 2 taken before · 3 died later
-- Cost O(log n) an id. A repeat takes nothing twice.
check_types(WAKE) -- guard: queue_types_checked
local key, before = tag .. ':redrive:' .. ARGV[1], earliest()
local kept = {}
kept = call('HMGET', key, 'cutoff', 'filter', 'taken') -- guard: queue_redrive_kept
local cutoff, filter, taken = tonumber(kept[1] or NOW), kept[2] or ARGV[2], tonumber(kept[3] or 0)
local answers = {}

local function redrive(id)
  local j = open(head_of(id))
  local died_at = tonumber(call('ZSCORE', DEAD, id))
  if not j or not died_at then return 0 end
  local before_by_this = false
  each_note(notes_of(id, j), function(kind, bytes)
    if kind == REDRIVEN and string.sub(bytes, 1, 16) == ARGV[1] then before_by_this = true end -- guard: queue_redrive_once
  end)
  if before_by_this then return 2 end
  if died_at > cutoff then return 3 end -- guard: queue_redrive_cutoff
  call('ZREM', DEAD, id)
  annotate(id, j, REDRIVEN, struct.pack('>c16I6H', ARGV[1], NOW, j.errors))
  j.errors, j.crashes, j.lease_expiries = 0, 0, 0
  local due = NOW + tonumber(ARGV[3])
  if j.expires then call('SETRANGE', JOB .. id, 40, struct.pack('>I6', due + j.late)) end
  wait(id, j, due)
  add('redriven', 1)
  return 1
end

for at = 5, #ARGV do answers[at - 4] = string.char(redrive(ARGV[at])) end
taken = taken + (totals.redriven or 0)
call('HSET', key, 'cutoff', cutoff, 'filter', filter, 'taken', taken)
call('PEXPIRE', key, ARGV[4])
leave_markers(before)
save_totals()
return { cutoff, filter, taken, table.concat(answers) }
