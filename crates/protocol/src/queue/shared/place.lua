-- Finds a job's index, and writes and removes what a job leaves behind when it ends.
-- Cost O(log n) a job.
local TOTALS = { 'done', 'expired', 'discarded', 'deleted', 'revoked', 'revoked' }
local DONE, EXPIRED, DISCARDED, DELETED, REVOKED, REVOKED_AFTER_LEASE_EXPIRY = 1, 2, 3, 4, 5, 6
local REVOKE_MS = 600000
-- One byte more than a unique key's value has: a longer value is another program's.
local UNIQUE_LAST = '22'

local function where(s, id, j)
  local index = s.due[j.flags % 4]
  if j.token ~= NO_OWNER then index = s.leased end
  local score = redis.call('ZSCORE', index, id)
  if not score then
    index = s.dead
    score = redis.call('ZSCORE', index, id)
  end
  return score and index, tonumber(score)
end

local function retain_until(s, rule, window, how, enqueued)
  if rule == 3 then return 0 end
  local until_ms = rule == 1 and s.now + (window or 0) or rule == 2 and enqueued + (window or 0) or -1
  if how >= REVOKED then until_ms = math.max(until_ms, s.now + REVOKE_MS) end -- guard: queue_revoke_completion
  return until_ms
end

local function record_completion(s, id, how, version, until_ms)
  local value = struct.pack('>BBHc8I6I6', 2, how, 0, version or NO_VERSION, s.now, until_ms)
  if until_ms == 0 then redis.call('SET', s.job .. id, value) else redis.call('SET', s.job .. id, value, 'PX', until_ms - s.now) end
end

local function free_unique(s, id, j)
  local key = j.unique and s.tag .. ':unique:' .. j.unique
  if key and string.sub(bytes_of(key, UNIQUE_LAST), 7) == id then redis.call('DEL', key) end
end
