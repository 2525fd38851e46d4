-- Redrives dead letters. The first call with a redrive id fixes its cutoff and filter; later calls use them.
-- KEYS 1 shard    ARGV 1 redrive id, 2 filter, 3 delay ms, 4 retention of the redrive, then ids
-- Replies cutoff, filter, taken in all, and a byte for each id: 0 not dead · 1 taken · 2 taken before · 3 died later
-- Cost O(log n) an id. A repeat takes nothing twice.
local s = shard_of(KEYS[1], ARGV)
check_types(s, s.wake) -- guard: queue_types_checked
local key = s.tag .. ':redrive:' .. ARGV[1]
local kept = {}
kept = redis.call('HMGET', key, 'cutoff', 'filter', 'taken') -- guard: queue_redrive_kept
local cutoff, filter, taken = tonumber(kept[1] or s.now), kept[2] or ARGV[2], tonumber(kept[3] or 0)
local answers = {}

local function redrive(id)
  local j = open(s, head_of(s, id))
  local died_at = tonumber(redis.call('ZSCORE', s.dead, id))
  if not j or not died_at then return 0 end
  local before_by_this = false
  each_note(notes_of(s, id, j), function(kind, bytes)
    if kind == REDRIVEN and string.sub(bytes, 1, 16) == ARGV[1] then before_by_this = true end -- guard: queue_redrive_once
  end)
  if before_by_this then return 2 end
  if died_at > cutoff then return 3 end -- guard: queue_redrive_cutoff
  redis.call('ZREM', s.dead, id)
  annotate(s, id, j, REDRIVEN, struct.pack('>c16I6H', ARGV[1], s.now, j.errors))
  j.errors, j.crashes, j.lease_expiries = 0, 0, 0
  local due = s.now + tonumber(ARGV[3])
  if j.expires then redis.call('SETRANGE', s.job .. id, 40, struct.pack('>I6', due + j.late)) end
  wait(s, id, j, due)
  add(s, 'redriven', 1)
  return 1
end

for at = 5, #ARGV do answers[at - 4] = string.char(redrive(ARGV[at])) end
taken = taken + (s.totals.redriven or 0)
redis.call('HSET', key, 'cutoff', cutoff, 'filter', filter, 'taken', taken)
redis.call('PEXPIRE', key, ARGV[4])
announce(s)
save(s)
return { cutoff, filter, taken, table.concat(answers) }
