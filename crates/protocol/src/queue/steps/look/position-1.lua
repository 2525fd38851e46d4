-- Everything in a shard that decides about the next delivery of a job, in one atomic read.
-- KEYS 1 shard    ARGV 1 id, 2 the bytes of its body and of each text
-- Replies now, the lease clock, the end of a pause (-1), the workers with a call in the last minute, the due jobs that are claimed before
--   this one, and the job as in a preview (nothing: unknown)
-- Cost O(log n + notes). Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local lease_now = s.now + s.meta.back + math.max(s.meta.seen - s.now, 0)
local workers = redis.call('ZCOUNT', s.tag .. ':workers', '(' .. text(lease_now - 60000), '+inf')
local record, index, score, body = preview(s, ARGV[1], tonumber(ARGV[2]))
local before = 0
if record and index >= 0 and index <= 3 and score <= s.now then
  before = redis.call('ZRANK', s.due[index], ARGV[1])
  for priority = 0, index - 1 do before = before + redis.call('ZCOUNT', s.due[priority], '-inf', text(s.now)) end
end
local paused = s.meta.paused > s.now and s.meta.paused or -1
return { s.now, lease_now, paused, workers, before, record and { record, index, score, body } or false }
