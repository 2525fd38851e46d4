-- Invalidates every earlier load. An absent entry stays absent; one that cannot be decoded is deleted.
-- KEYS 1 entry
-- ARGV 1 new generation, 2 floor (8 bytes or empty), 3 retain ms (empty: purge), 4 replicas' lag ms (0: none)
-- Replies 1 an entry existed · 0 none existed
-- Cost O(size of the header), unless its length changes. A repeat invalidates again, which is harmless.
local stored = redis.pcall('GETRANGE', KEYS[1], 0, HEAD_MAX - 1)
if stored == '' then return redis.call('DEL', KEYS[1]) end
local now = now_ms(KEYS[1])
local e, why = open_stored(stored, now)
if e then
  invalidate_entry(e, now, ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
  save_header(KEYS[1], e, now)
elseif why ~= 'nothing' then
  redis.call('DEL', KEYS[1])
end
return why == 'nothing' and 0 or 1
