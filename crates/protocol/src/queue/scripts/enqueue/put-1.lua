-- Upserts jobs by version, or withdraws them: the newest version wins, whatever state the job is in.
-- KEYS 1 shard    ARGV for each: id, version (8 bytes), when ("" withdraws, "!5" died at 5), record (or the retention rule 1, window 6)
-- Replies for each: 1 applied (also for a repeat) · 0 superseded by a newer version · 2 belongs to another shard
-- Cost O(log n) a job
check_types(WAKE) -- guard: queue_types_checked
local before, answers = earliest(), {}

local function put(id, version, when, payload, held)
  local index = held and where(id, held)
  if index then
    call('ZREM', index, id)
    add('bytes', -call('STRLEN', JOB .. id))
    free_unique(id, held)
  end
  local lease_expired = index and (held.token ~= NO_OWNER or has(held.flags, LEASE_EXPIRED))
  if when == '' then
    local rule, window = struct.unpack('>BI6', payload)
    local how = lease_expired and REVOKED_AFTER_LEASE_EXPIRY or REVOKED
    add('revoked', 1)
    return record_completion(id, how, version, retain_until(rule, window, how, NOW))
  end
  local j = open(payload)
  if lease_expired then j.flags = bit.bor(j.flags, LEASE_EXPIRED) end
  if index then j.fence = held.fence end -- guard: queue_put_fence
  accept(id, due_at(when), payload, j, string.sub(when, 1, 1) == '!')
end

for at = 1, #ARGV, 4 do
  local id, version = ARGV[at], ARGV[at + 1]
  local held, _, stored = open(head_of(id))
  if held then stored = held.version or NO_VERSION end
  local answer = 1
  if not stored and elsewhere(id) then answer = 2 end
  if stored and newer(stored, version) then answer = 0 end -- guard: queue_put_version
  if answer == 1 and stored ~= version then put(id, version, ARGV[at + 2], ARGV[at + 3], held) end
  answers[#answers + 1] = answer
end
leave_markers(before)
save_totals()
return answers
