-- The statistics of a shard.
-- KEYS 1 shard    ARGV names of totals
-- Replies now, waiting by priority (4), ready, oldest due (-1), leased, expired leases, dead, workers, markers, paused until (-1), then the totals
-- Cost O(log n). Writes nothing.
local lease_now = NOW + meta.back + math.max(meta.seen - NOW, 0)
local reply, ready, seen_after = { NOW }, 0, '-inf'
seen_after = '(' .. text(lease_now - 60000) -- guard: queue_counts_live_workers
for priority = 0, 3 do
  reply[#reply + 1] = call('ZCARD', DUE[priority])
  ready = ready + call('ZCOUNT', DUE[priority], '-inf', NOW)
end
local rest = { ready, earliest() or -1, call('ZCARD', LEASED), call('ZCOUNT', LEASED, '-inf', lease_now), call('ZCARD', DEAD),
  call('ZCOUNT', tag .. ':workers', seen_after, '+inf'), call('ZCARD', WAKE), meta.paused > NOW and meta.paused or -1 }
for _, figure in ipairs(rest) do reply[#reply + 1] = figure end
for _, total in ipairs(call('HMGET', META, unpack(ARGV))) do reply[#reply + 1] = tonumber(total or 0) end
return reply
