-- The membership of a server of a Redlock: a member, or excluded because it may have lost locks.
-- KEYS 1 server    ARGV 1 its boot id, 2 duration of an exclusion, ms
-- Replies {1, 0, since} member · {0, ms left, since} excluded; 0 ms: it may be admitted
-- Cost O(1). Safe to repeat: the mark is only written if there is none of this boot.
local now = now_ms(KEYS[1])
-- A key of another type was written by another program and is ignored.
local mark = redis.pcall('HMGET', KEYS[1], 'boot', 'since', 'member')
local boot, since, member = unpack(mark.err and {} or mark)
since = tonumber(since or 0)
-- New, flushed or restarted: even with its data, the writes of the last moments may be lost.
if boot ~= ARGV[1] or since > now then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'boot', ARGV[1], 'since', now, 'member', '0', 'floor', '0')
  since, member = now, '0'
end
if member == '1' then return { 1, 0, since } end
return { 0, math.max(since + tonumber(ARGV[2]) - now, 0), since }
