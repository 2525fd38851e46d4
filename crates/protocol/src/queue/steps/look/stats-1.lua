-- The statistics of a shard.
-- KEYS 1 shard    ARGV names of totals
-- Replies now, waiting by priority (4), ready, oldest due (-1), leased, expired leases, dead, workers, markers, paused until (-1), then the totals
-- Cost O(log n). Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local lease_now = s.now + s.meta.back + math.max(s.meta.seen - s.now, 0)
local reply, ready, seen_after = { s.now }, 0, '-inf'
seen_after = '(' .. text(lease_now - 60000) -- guard: queue_counts_live_workers
for priority = 0, 3 do
  reply[#reply + 1] = redis.call('ZCARD', s.due[priority])
  ready = ready + redis.call('ZCOUNT', s.due[priority], '-inf', s.now)
end
local rest = { ready, earliest_due(s) or -1, redis.call('ZCARD', s.leased), redis.call('ZCOUNT', s.leased, '-inf', lease_now), redis.call('ZCARD', s.dead),
  redis.call('ZCOUNT', s.tag .. ':workers', seen_after, '+inf'), redis.call('ZCARD', s.wake), s.meta.paused > s.now and s.meta.paused or -1 }
for _, figure in ipairs(rest) do reply[#reply + 1] = figure end
for _, total in ipairs(redis.call('HMGET', s.meta_key, unpack(ARGV))) do reply[#reply + 1] = tonumber(total or 0) end
return reply
