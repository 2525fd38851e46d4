-- Stores the report of a process and the time of it. Forgets processes that have not reported for long, those above the limit,
-- and times that no clock of this server has shown yet; at most 100 of each kind a call.
-- KEYS 1 times, 2 report    ARGV 1 process, 2 report, 3 ms to keep it, 4 ms to keep its time, 5 most processes
-- Replies 1 stored · 0 another program's value is under the key of the times: nothing was written
-- Cost O(log n). A repeat stores it again.
if type(redis.pcall('ZCARD', KEYS[1])) == 'table' then return 0 end -- guard: process_times_foreign
local now = now_ms(KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[1], now, ARGV[1])
local function forget(gone)
  if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
end
local from, to = string.format('%.0f', now - ARGV[4]), string.format('%.0f', now)
forget(redis.call('ZRANGE', KEYS[1], '-inf', '(' .. from, 'BYSCORE', 'LIMIT', 0, 100))
forget(redis.call('ZRANGE', KEYS[1], '(' .. to, '+inf', 'BYSCORE', 'LIMIT', 0, 100))
local above = redis.call('ZCOUNT', KEYS[1], from, to) - ARGV[5]
if above > 0 then forget(redis.call('ZRANGE', KEYS[1], from, to, 'BYSCORE', 'LIMIT', 0, math.min(above, 100))) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
