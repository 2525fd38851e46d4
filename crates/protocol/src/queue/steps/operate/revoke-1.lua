-- Revokes jobs that are not running.
-- KEYS 1 shard    ARGV ids
-- Replies a byte for each: 0 unknown · 1 revoked · 2 revoked after a lease expired · 3 running · 4 dead · 16 + how it had ended
-- Cost O(log n) an id. A repeat finds the completion record and gets the same reply.
local s = shard_of(KEYS[1], ARGV)
check_types(s) -- guard: queue_types_checked
local lease_now = lease_clock(s)
local answers = {}

local function revoke(id)
  local j, how = open(s, head_of(s, id))
  if how then return ({ [REVOKED] = 1, [REVOKED_AFTER_LEASE_EXPIRY] = 2 })[how] or 16 + how end
  local index, score = nil, nil
  if j then index, score = where(s, id, j) end
  if not index then return 0 end
  if index == s.dead then return 4 end -- guard: queue_revoke_dead
  if index == s.leased and score > lease_now then return 3 end -- guard: queue_revoke_running
  local lease_expired = has(j.flags, LEASE_EXPIRED) or index == s.leased
  redis.call('ZREM', index, id)
  finish(s, id, j, lease_expired and REVOKED_AFTER_LEASE_EXPIRY or REVOKED)
  return lease_expired and 2 or 1
end

for at, id in ipairs(ARGV) do answers[at] = string.char(revoke(id)) end
save(s)
return table.concat(answers)
