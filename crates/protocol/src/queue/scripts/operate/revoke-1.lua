-- Revokes jobs that are not running.
-- KEYS 1 shard    ARGV ids
-- Replies a byte for each: 0 unknown · 1 revoked · 2 revoked after a lease expired · 3 running · 4 dead · 16 + how it had ended
-- Cost O(log n) an id. A repeat finds the completion record and gets the same reply.
check_types() -- guard: queue_types_checked
local lease_now = lease_clock()
local answers = {}

local function revoke(id)
  local j, how = open(head_of(id))
  if how then return ({ [REVOKED] = 1, [REVOKED_AFTER_LEASE_EXPIRY] = 2 })[how] or 16 + how end
  local index, score = nil, nil
  if j then index, score = where(id, j) end
  if not index then return 0 end
  if index == DEAD then return 4 end -- guard: queue_revoke_dead
  if index == LEASED and score > lease_now then return 3 end -- guard: queue_revoke_running
  local lease_expired = has(j.flags, LEASE_EXPIRED) or index == LEASED
  call('ZREM', index, id)
  finish(id, j, lease_expired and REVOKED_AFTER_LEASE_EXPIRY or REVOKED)
  return lease_expired and 2 or 1
end

for at, id in ipairs(ARGV) do answers[at] = string.char(revoke(id)) end
save_totals()
return table.concat(answers)
