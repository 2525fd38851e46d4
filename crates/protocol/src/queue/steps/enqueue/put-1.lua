-- Upserts jobs by version, or withdraws them: the newest version wins, whatever state the job is in.
-- KEYS 1 shard    ARGV for each: id, version (8 bytes), when ("" withdraws, "!5" died at 5), record (or the retention rule 1, window 6)
-- Replies for each: 1 applied (also for a repeat) · 0 superseded by a newer version · 2 belongs to another shard
-- Cost O(log n) a job
local s, answers = shard_of(KEYS[1], ARGV, 'created'), {}
check_types(s, s.wake) -- guard: queue_types_checked

local function put(id, version, when, payload, held)
  local index = held and where(s, id, held)
  if index then
    redis.call('ZREM', index, id)
    add(s, 'bytes', -redis.call('STRLEN', s.job .. id))
    free_unique(s, id, held)
  end
  local lease_expired = index and (held.token ~= NO_OWNER or has(held.flags, LEASE_EXPIRED))
  if when == '' then
    local rule, window = struct.unpack('>BI6', payload)
    local how = lease_expired and REVOKED_AFTER_LEASE_EXPIRY or REVOKED
    add(s, 'revoked', 1)
    return record_completion(s, id, how, version, retain_until(s, rule, window, how, s.now))
  end
  local j = open(s, payload)
  if lease_expired then j.flags = bit.bor(j.flags, LEASE_EXPIRED) end
  if index then j.fence = held.fence end -- guard: queue_put_fence
  accept_record(s, id, due_at(s, when), payload, j, string.sub(when, 1, 1) == '!')
end

for at = 1, #ARGV, 4 do
  local id, version = ARGV[at], ARGV[at + 1]
  local held, _, stored = open(s, head_of(s, id))
  if held then stored = held.version or NO_VERSION end
  local answer = 1
  if not stored and elsewhere(s, id) then answer = 2 end
  if stored and newer(stored, version) then answer = 0 end -- guard: queue_put_version
  if answer == 1 and stored ~= version then put(id, version, ARGV[at + 2], ARGV[at + 3], held) end
  answers[#answers + 1] = answer
end
announce(s)
save(s)
return answers
