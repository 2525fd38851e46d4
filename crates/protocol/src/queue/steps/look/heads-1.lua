-- The states and versions of some jobs. Only the heads of the records are read, so the size of the bodies does not matter.
-- KEYS 1 shard    ARGV ids
-- Replies for each: nothing, unknown; or the index (0-3 waiting by priority, 4 leased, 5 dead, -1 ended, -2 unreadable), the score
-- (of an ended one how it ended), the version (8 bytes), and 1 if a lease of it has expired
-- Cost O(1) an id. Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local function found(id)
  local raw = head_of(s, id)
  local j, how, version = open(s, raw)
  if how then return { -1, how, version, 0 } end
  if not j then
    -- An expired completion record counts as absent.
    if raw == '' or string.byte(raw, 1) == 2 then return false end
    return { -2, 0, NO_VERSION, 0 }
  end
  local index, score = where(s, id, j)
  if not index then return false end
  local number = index == s.dead and 5 or index == s.leased and 4 or j.flags % 4
  local lease_expired = index == s.leased or has(j.flags, LEASE_EXPIRED)
  return { number, score, j.version or NO_VERSION, lease_expired and 1 or 0 }
end

local answers = {}
for at, id in ipairs(ARGV) do answers[at] = found(id) end
return answers
