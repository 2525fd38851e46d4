-- How a server of a Redlock stands: a member, or one that sits out because it may have forgotten locks.
-- KEYS 1 server    ARGV 1 its boot id, 2 ms to sit out
-- Replies {1, 0, since} member · {0, ms left, since} sits out; 0 ms: it may be admitted
-- Cost O(1). Safe to repeat: only what has no mark of this boot is marked.
local call, now = redis.call, now_ms()
-- What another program has put there says nothing.
local mark = redis.pcall('HMGET', KEYS[1], 'boot', 'since', 'member')
local boot, since, member = unpack(mark.err and {} or mark)
since = tonumber(since or 0)
-- New, flushed, or started again: with or without its data, the last moments may be gone.
if boot ~= ARGV[1] or since > now then
  call('DEL', KEYS[1])
  call('HSET', KEYS[1], 'boot', ARGV[1], 'since', now, 'member', '0', 'floor', '0')
  since, member = now, '0'
end
if member == '1' then return { 1, 0, since } end
return { 0, math.max(since + tonumber(ARGV[2]) - now, 0), since }
