-- Removes up to 100 unresponsive workers and their stored replies.
-- Returns the ms until the next lease expires, -1 for none. Cost O(log n).
local function forget_silent(s, lease_now, silence)
  local silent = redis.call('ZRANGEBYSCORE', s.workers, '-inf', lease_now - silence, 'LIMIT', 0, 100)
  if #silent > 0 then
    redis.call('ZREM', s.workers, unpack(silent))
    redis.call('HDEL', s.tag .. ':answers', unpack(silent))
  end
  local next_deadline = tonumber(redis.call('ZRANGE', s.leased, 0, 0, 'WITHSCORES')[2])
  return next_deadline and math.max(next_deadline - lease_now, 0) or -1
end
