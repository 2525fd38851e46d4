-- Everything in a shard that decides about the next delivery of a job, in one atomic read.
-- KEYS 1 shard    ARGV 1 id, 2 the bytes of its body and of each text
-- Replies now, the lease clock, the end of a pause (-1), the workers with a call in the last minute, the due jobs that are claimed before
--   this one, and the job as in a preview (nothing: unknown)
-- Cost O(log n + notes). Writes nothing.
local lease_now = NOW + meta.back + math.max(meta.seen - NOW, 0)
local workers = call('ZCOUNT', tag .. ':workers', '(' .. text(lease_now - 60000), '+inf')
local record, index, score, body = preview(ARGV[1], tonumber(ARGV[2]))
local before = 0
if record and index >= 0 and index <= 3 and score <= NOW then
  before = call('ZRANK', DUE[index], ARGV[1])
  for priority = 0, index - 1 do before = before + call('ZCOUNT', DUE[priority], '-inf', text(NOW)) end
end
local paused = meta.paused > NOW and meta.paused or -1
return { NOW, lease_now, paused, workers, before, record and { record, index, score, body } or false }
